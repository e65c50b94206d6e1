"""The engine against the exact enumeration of all configurations of small tensors."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from varprop import algebra as va

from .enumeration import Case, D, H, N, Points, enumerated, exact, tensors

COIN = Points((-1, 1), (1, 1))
BIASED = Points((-1, 2), (2, 1))
SHIFTED = Points((0, 3), (3, 1))
MASK = Points((0, 2), (1, 1))
THREE = Points((-2, 0, 1), (1, 2, 2))

CASES = {
    "projection": Case(
        lambda einsum, W, x: einsum("ai,i->a", W, x),
        {"W": ((H, D), BIASED), "x": ((D,), THREE)},
        ("a",),
        highest=4,
        also=("b",),
    ),
    "projection of positions": Case(
        lambda einsum, W, E, P: einsum("ai,ti->ta", W, 2 * E + P),
        {"W": ((H, D), BIASED), "E": ((N, D), SHIFTED)},
        ("t", "a"),
        {"P": (N, D)},
        highest=3,
        also=("s", "a"),
    ),
    "logit": Case(
        lambda einsum, W, V, E, P: einsum("ai,ti,aj,sj->ts", W, E + P, V, E + P),
        {"W": ((H, D), COIN), "V": ((H, D), BIASED), "E": ((N, D), SHIFTED)},
        ("t", "s"),
        {"P": (N, D)},
        highest=2,
        also=("t", "t"),
    ),
    "nested logit": Case(
        lambda einsum, W, V, E: einsum(
            "ta,sa->ts", einsum("ai,ti->ta", W, E), einsum("ai,ti->ta", V, E)
        ),
        {"W": ((H, D), BIASED), "V": ((H, D), COIN), "E": ((N, D), BIASED)},
        ("t", "s"),
        highest=3,
    ),
    "logit, shared projection": Case(
        lambda einsum, W, E: einsum(
            "ta,sa->ts", einsum("ai,ti->ta", W, E), einsum("ai,ti->ta", W, E)
        ),
        {"W": ((H, D), BIASED), "E": ((N, D), BIASED)},
        ("t", "s"),
        highest=3,
        also=("t", "t"),
    ),
    "self-logit, shared projection": Case(
        lambda einsum, W, x: einsum("a,a->", einsum("ai,i->a", W, x), einsum("ai,i->a", W, x)),
        {"W": ((H, D), BIASED), "x": ((D,), THREE)},
        highest=3,
    ),
    "chain": Case(
        lambda einsum, A, B, C, x: einsum(
            "ab,b->a", A, einsum("bc,c->b", B, einsum("cd,d->c", C, x))
        ),
        {"A": ((H, H), BIASED), "B": ((H, D), COIN), "C": ((D, N), BIASED), "x": ((N,), SHIFTED)},
        ("a",),
        highest=3,
        also=("b",),
    ),
    "chain of one matrix": Case(
        lambda einsum, W, x: einsum("ab,bc,cd,d->a", W, W, W, x),
        {"W": ((D, D), BIASED), "x": ((D,), SHIFTED)},
        ("a",),
        highest=3,
        also=("b",),
    ),
    "Gram entry": Case(
        lambda einsum, E: einsum("ti,si->ts", E, E),
        {"E": ((N, D), THREE)},
        ("t", "s"),
        highest=4,
        also=("t", "t"),
    ),
    "trace of W W^T": Case(
        lambda einsum, W: einsum("ai,ai->", W, W), {"W": ((H, D), THREE)}, highest=4
    ),
    "trace of W^3": Case(
        lambda einsum, W: einsum("ab,bc,ca->", W, W, W), {"W": ((D, D), SHIFTED)}, highest=4
    ),
    "trace": Case(lambda einsum, W: einsum("ii->", W), {"W": ((D, D), BIASED)}, highest=4),
    "diagonal": Case(
        lambda einsum, W: einsum("ii,ij->i", W, W), {"W": ((D, D), BIASED)}, ("a",), highest=3
    ),
    "dropout mask": Case(
        lambda einsum, m, E, P: einsum("ti,ti->ti", m, E + P),
        {"m": ((N, D), MASK), "E": ((N, D), BIASED)},
        ("t", "i"),
        {"P": (N, D)},
        highest=4,
    ),
    "masked norm": Case(
        lambda einsum, m, x: einsum("i,i,i->", m, x, x) - einsum("i,i->", m * x, m),
        {"m": ((D,), MASK), "x": ((D,), THREE)},
        highest=3,
    ),
    "value mixing": Case(
        lambda einsum, a, W, E: einsum("s,ci,si->c", a, W, E),
        {"W": ((H, D), BIASED), "E": ((N, D), SHIFTED)},
        ("c",),
        {"a": (N,)},
        highest=3,
        also=("b",),
    ),
    "outer product": Case(
        lambda einsum, x, y: einsum("i,j->ij", x, x) + 3 * einsum("i,j->ij", x, y),
        {"x": ((D,), THREE), "y": ((D,), SHIFTED)},
        ("i", "j"),
        highest=4,
        also=("i", "i"),
    ),
    "sum of tensors": Case(
        lambda einsum, E, F, P: E - 2 * F + 3 * P + E**2 - E * F * P,
        {"E": ((N, D), BIASED), "F": ((N, D), SHIFTED)},
        ("t", "i"),
        {"P": (N, D)},
        highest=3,
        also=("s", "i"),
    ),
    "constants": Case(
        lambda einsum, x: (1 - x) ** 2 + einsum("i,j->j", x, x + 1),
        {"x": ((D,), THREE)},
        ("i",),
        highest=3,
        also=("j",),
    ),
    "quadratic form": Case(
        lambda einsum, x, M: einsum("i,ij,j->", x, M, x),
        {"x": ((D,), THREE)},
        fixed={"M": (D, D)},
        highest=3,
    ),
    "summed index meets letter": Case(
        lambda einsum, x: einsum("i,j->i", x, x),
        {"x": ((D,), SHIFTED)},
        ("i",),
        highest=4,
        also=("j",),
    ),
}


def check(case: Case) -> None:
    """Compare raw moments at one place, the variance, and the covariance with a second place."""
    letters = dict.fromkeys((*case.letters, *(case.also or ())))
    result = case.define(va.einsum, **tensors(case))
    places: dict[str, int] = {}
    taken: dict[object, int] = {}
    for shown in (case.letters, case.also or ()):
        for letter, size in zip(shown, result.shape, strict=False):
            if letter not in places:
                places[letter] = taken.get(size, 0)
                taken[size] = places[letter] + 1
    assert set(places) == set(letters)
    entry = result[case.letters] if case.letters else result
    place = tuple(places[letter] for letter in case.letters)
    expected = enumerated(case, [place], case.highest)
    for order in range(1, case.highest + 1):
        assert exact(va.moment(entry, order), case, places) == expected[order], order
    assert exact(va.variance(entry), case, places) == expected[2] - expected[1] ** 2
    if case.also:
        other = tuple(places[letter] for letter in case.also)
        [other_mean, product] = enumerated(case, [place, other], 1)
        expected_covariance = product - expected[1] * other_mean
        covariance = va.covariance(entry, result[case.also])
        assert exact(covariance, case, places) == expected_covariance


@pytest.mark.parametrize("name", CASES)
def test_corpus(name: str) -> None:
    check(CASES[name])


def test_fourth_cumulant() -> None:
    case = CASES["projection"]
    q = case.define(va.einsum, **tensors(case))
    one, two, three, four = enumerated(case, [(0,)], 4)[1:]
    expected = four - 4 * three * one - 3 * two**2 + 12 * two * one**2 - 6 * one**4
    assert exact(va.cumulant(q["a"], 4), case, {"a": 0}) == expected


@st.composite
def programs(draw: st.DrawFn) -> list[tuple]:
    """Steps that each make one more tensor of one, two or three of those before (all sizes d)."""
    ranks, degrees, steps = [2, 1, 2, 1], [1, 1, 0, 0], []
    for _ in range(draw(st.integers(1, 4))):
        kind = draw(st.sampled_from(["einsum", "einsum", "add", "scale"]))
        chosen = draw(st.lists(st.integers(0, len(ranks) - 1), min_size=1, max_size=3))
        if kind == "scale":
            steps.append((kind, chosen[:1], draw(st.integers(-2, 3))))
            rank, degree = ranks[chosen[0]], degrees[chosen[0]]
        elif kind == "add":
            same = [i for i in range(len(ranks)) if ranks[i] == ranks[chosen[0]]]
            other = draw(st.sampled_from(same))
            steps.append((kind, [chosen[0], other], None))
            rank, degree = ranks[other], max(degrees[chosen[0]], degrees[other])
        else:
            inputs = [draw(st.text("ijkl", min_size=ranks[i], max_size=ranks[i])) for i in chosen]
            shown = sorted(set("".join(inputs)))
            output = "".join(draw(st.permutations(shown))[: draw(st.integers(0, 2))])
            steps.append((kind, chosen, f"{','.join(inputs)}->{output}"))
            rank, degree = len(output), sum(degrees[i] for i in chosen)
        if degree > 5:
            steps.pop()
            continue
        ranks.append(rank)
        degrees.append(degree)
    return steps


def run(steps: list[tuple], einsum, W, x, P, f):
    """Execute the steps and return the last tensor."""
    made = [W, x, P, f]
    for kind, chosen, detail in steps:
        operands = [made[i] for i in chosen]
        if kind == "scale":
            made.append(detail * operands[0])
        else:
            made.append(sum(operands) if kind == "add" else einsum(detail, *operands))
    return made[-1]


@settings(max_examples=100, deadline=None)
@given(programs(), st.sampled_from([COIN, BIASED, SHIFTED]), st.sampled_from([THREE, SHIFTED]))
def test_random_programs(steps: list[tuple], first: Points, second: Points) -> None:
    case = Case(
        lambda einsum, **made: run(steps, einsum, **made),
        {"W": ((D, D), first), "x": ((D,), second)},
        fixed={"P": (D, D), "f": (D,)},
    )
    rank = len(case.define(va.einsum, **tensors(case)).shape)
    check(case._replace(letters=("a", "b")[:rank], also=(("a", "a"), ("b",), None)[2 - rank]))
