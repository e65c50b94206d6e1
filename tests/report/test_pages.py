"""Every equation and every table of the derivation pages, read back from the text and evaluated."""

import math
import re
from functools import cache

import mpmath
import numpy as np
import pytest

import varprop

from .conftest import PAGES
from .formulas import evaluate, parse
from .laws import LARGEST
from .markdown import equations, tables
from .truths import EQUATIONS
from .truths.points import point, sinusoidal

UNIT = 2.0**-53
SUMMED = LARGEST * UNIT
"""Rounding of a sum over all configurations, relative to its terms, in whatever order."""
EVALUATED = 2**10 * UNIT
"""Rounding of one formula of some hundred operations and powers up to the eighth."""

FOUND = {equation.name: equation for page in PAGES.values() for equation in equations(page)}
TABLES = {table.name: table for page in PAGES.values() for table in tables(page)}
SCALES = ["1", "sqrt(d_model)", "d_model", "1/sqrt(d_model)", "1/d_model"]
LOGIT_SCALES = ["1", "1/sqrt(d_head)", "1/d_head", "1/sqrt(d_model)"]


def test_every_equation_has_a_truth():
    assert sorted(FOUND) == sorted(EQUATIONS)
    assert len(FOUND) == sum(len(equations(page)) for page in PAGES.values())
    assert len(TABLES) == sum(len(tables(page)) for page in PAGES.values())
    for page in PAGES.values():
        assert page.count("<!-- equation:") == len(equations(page))
        assert page.count("<!-- table:") == len(tables(page)) == page.count("| --- |\n")


@cache
def known_at(name):
    """Every point of an equation, and the truth there."""
    truth = EQUATIONS[name]
    points = [point(name, index, sizes) for index, sizes in enumerate(truth.points)]
    return [(vars(o), float(truth.value(o))) for o in points]


def holds(latex, values, known):
    value, terms = evaluate(latex, values)
    return abs(value - known) <= SUMMED * max(1.0, terms, abs(known))


@pytest.mark.parametrize("name", FOUND)
def test_equation(name):
    truth, (_, left, steps) = EQUATIONS[name], FOUND[name]
    assert left == truth.left
    assert len(truth.points) >= 3
    for values, known in known_at(name):
        for step in [left, *steps] if truth.is_formula else steps:
            assert holds(step, values, known), (step, values, known)


def misprints(latex):
    """The formula with one number raised by 1, or one d or h taken for the other."""
    for match in re.finditer(r"(?<!_\{)\d|(?<![\\A-Za-z{])[dh](?![A-Za-z])", latex):
        wrong = {"d": "h", "h": "d"}.get(match[0]) or str(int(match[0]) + 1)
        yield latex[: match.start()] + wrong + latex[match.end() :]


@pytest.mark.parametrize("name", FOUND)
def test_a_misprint_is_seen(name):
    """The points tell every exponent, every factor and the two sizes apart."""
    for step in FOUND[name].steps:
        for wrong in misprints(step):
            assert not all(holds(wrong, values, known) for values, known in known_at(name)), wrong


# Tables of scaling rules: the row's labels are the specification

STAGES = {
    "embedding.scaling": ("scaled_embedding", "variance", {"position": "none"}),
    "position.share": ("input", "position", {}),
    "sum.scaling": ("input", "second_moment", {}),
    "sum.share": ("input", "embedding", {}),
    "projections.scaling": ("query", "ensemble_variance", {}),
    "scores.scaling": ("logits", "variance", {}),
    "self.scaling": ("self_logits", "variance", {}),
    "rotary.scaling": ("logits", "variance", {"position": "rotary"}),
    "half.scaling": (
        "scores",
        "variance",
        {"position": "none", "query": "normal(std=1)", "key": "normal(std=1)"},
    ),
}
WIDTHS = [
    {"d_model": 16, "n_heads": 2},
    {"d_model": 24, "n_heads": 6},
    {"d_model": 2, "n_heads": 1},
]


def code(cell):
    assert re.fullmatch(r"`[^`]+`", cell), cell
    return cell.strip("`")


@pytest.mark.parametrize("name", STAGES)
def test_scaling(name):
    stage, attribute, fields = STAGES[name]
    _, header, rows = TABLES[name]
    stds = [re.fullmatch(r"std (.+)", cell)[1] for cell in header if cell.startswith("std ")]
    rules = [tuple(map(code, row[: -len(stds)])) for row in rows]
    assert stds == ["1", "1/sqrt(d_model)"]
    logits = stage.endswith("logits")
    assert rules == [
        (c, l) if logits else (c,) for c in SCALES for l in (LOGIT_SCALES if logits else "1")
    ]
    for sizes in WIDTHS:
        for rule, cells in zip(rules, (row[-len(stds) :] for row in rows), strict=True):
            for std, cell in zip(stds, cells, strict=True):
                scale = {"logit_scale": rule[1]} if logits else {}
                p = varprop.predict(
                    **sizes,
                    **fields,
                    **scale,
                    embedding=f"normal(std={std})",
                    embedding_scale=rule[0],
                    seq_len=8,
                )
                known = (
                    p[stage].shares[attribute] if "share" in name else getattr(p[stage], attribute)
                )
                value, terms = evaluate(formula(cell), {"d": p.spec.d_model, "h": p.spec.d_head})
                assert abs(value - known) <= EVALUATED * max(terms, known), (rule, std, cell, known)


def formula(cell):
    assert re.fullmatch(r"\$[^$]+\$", cell), cell
    return cell.strip("$")


@pytest.mark.parametrize("sizes", WIDTHS)
def test_every_stage(sizes):
    """Each formula in the names of the fields, at the fields' values."""
    p = varprop.predict(**sizes, position="learned(normal(std=sqrt(1/2)))")
    rows = TABLES["stages.formulas"].rows
    assert [code(stage) for stage, _ in rows] == list(p)
    values = {name: float(getattr(p.spec, name)) for name in varprop.expressions.FIELDS}
    for stage, cell in rows:
        value, terms = evaluate(formula(cell), values)
        assert abs(value - p[code(stage)].second_moment) <= EVALUATED * terms


def uniform(bound):
    return bound**2 / 3


# PyTorch's documentation, with fan_in = d and fan_out as given
WEIGHTS = {
    "xavier_uniform": lambda d: uniform(math.sqrt(6 / (d + d))),
    "xavier_uniform(fan_out=3*d_model)": lambda d: uniform(math.sqrt(6 / (d + 3 * d))),
    "kaiming_uniform": lambda d: uniform(math.sqrt(2 / (1 + 5)) * math.sqrt(3 / d)),
    "kaiming_normal": lambda d: (math.sqrt(2) / math.sqrt(d)) ** 2,
    "lecun_normal": lambda d: 1 / d,
}


def test_initializers():
    rows = TABLES["projections.initializers"].rows
    assert [code(row[0]) for row in rows] == list(WEIGHTS)
    for name, weight, gain in rows:
        for d in (4, 6, 64):
            value = evaluate(formula(weight), {"d": d})[0]
            assert value == pytest.approx(WEIGHTS[code(name)](d), rel=EVALUATED)
            assert evaluate(formula(gain), {"d": d})[0] == pytest.approx(d * value, rel=EVALUATED)
        p = varprop.predict(d_model=16, n_heads=2, seq_len=4, query=code(name))
        gained = p.query.second_moment / p.input.second_moment
        assert evaluate(formula(gain), {"d": 16})[0] == pytest.approx(gained, rel=EVALUATED)


def test_lengths():
    """Short tables directly; long ones from the sums over positions at forty digits."""
    for length, *cells in TABLES["position.lengths"].rows:
        n = int(length.replace(",", ""))
        mean, over_channels = direct(n) if n <= 1024 else in_forty_digits(n)
        apart = "none" if n == 1 else (n * over_channels - 0.5) / (n - 1)
        for cell, known in zip(
            cells, [mean, 0.5, 0.5 - mean**2, 0.5 - over_channels, apart], strict=True
        ):
            if known == "none":
                assert cell == known
            else:  # six significant figures are printed; the differences lose what cancels
                assert abs(float(cell) - known) <= 0.51e-5 * abs(known) + 2**6 * UNIT, (
                    length,
                    cell,
                    known,
                )


def direct(n):
    """The mean, and the mean over channels of the squared channel mean."""
    table = sinusoidal(512, n)
    return table.mean(), (table.mean(0) ** 2).mean()


def in_forty_digits(n):
    total, squares = mpmath.mpf(0), mpmath.mpf(0)
    with mpmath.workdps(40):
        for k in range(256):
            wave = mpmath.expj(mpmath.mpf(10000) ** (-mpmath.mpf(2 * k) / 512))
            mean = (1 - wave**n) / (1 - wave) / n
            total += mean.real + mean.imag
            squares += abs(mean) ** 2
        return float(total / 512), float(squares / 512)


@pytest.mark.parametrize("name", [name for name in TABLES if name.endswith(".numbers")])
def test_numbers(name):
    """What is printed is what the page's specification predicts, and the measurement agrees."""
    page = PAGES[name.removesuffix(".numbers") + ".md"]
    fields = re.search(r"varprop\.check(\(.*?replicates=)", page, re.DOTALL)[1]
    p = eval(f"varprop.predict{fields.removesuffix('replicates=')})", {"varprop": varprop})
    _, header, rows = TABLES[name]
    assert header == ["attribute", "predicted", "measured", "z"]
    for label, predicted, measured, z in rows:
        stage, attribute = code(label).split(".")
        assert predicted == f"{getattr(p[stage], attribute):.6g}"
        value, stderr = map(float, measured.split(" ± "))
        assert abs(float(z)) <= (5 if attribute != "excess_kurtosis" else math.inf)
        assert abs(value - float(predicted)) <= 6 * stderr + 1e-5 * abs(value)


def test_every_table_has_a_truth():
    numbers = {name for name in TABLES if name.endswith(".numbers")}
    others = {"projections.initializers", "position.lengths", "stages.formulas"}
    halves = ("formats", "factors", "tails", "query", "widths", "overflows", "rounded")
    others |= {f"half.{name}" for name in halves}
    others |= {f"softmax.{name}" for name in ("rules", "iid", "mixture")}
    others |= {f"output.{name}" for name in ("rules", "models", "transition", "simulated")}
    others |= {"norm.rules", "norm.layernorm"}
    assert numbers == {
        f"{page.removesuffix('.md')}.numbers" for page in PAGES if page != "README.md"
    }
    assert set(TABLES) == numbers | others | set(STAGES)


# The reading itself


@pytest.mark.parametrize(
    ("latex", "known"),
    [
        (r"c^{2} d s^{2}", 2.0**2 * 3 * 5**2),
        (r"d h \left(d + 1\right)", 3 * 7 * 4),
        (r"a_{q} \lVert x_{t} \rVert^{2} + b_{q}", 11 * 13**2 + 17),
        (r"\frac{d}{2} - \frac{1}{d h}", 1.5 - 1 / 21),
        (r"2 \cos{\left(2 \theta \right)}", 2 * np.cos(0.5)),
        (r"\tau_{2} \left(x_{t} \cdot x_{s}\right)^{2} \bar{p}", 19 * 23**2 * 29),
        (r"\sqrt{d} \lambda", 3**0.5 * 31),
    ],
)
def test_formulas_read_back(latex, known):
    values = {"c": 2, "d": 3, "s": 5, "h": 7, "a_q": 11, "norm_t": 13, "b_q": 17, "theta": 0.25}
    values |= {"tau_2": 19, "inner": 23, "p_bar": 29, "lam": 31}
    assert evaluate(latex, values)[0] == pytest.approx(known, rel=EVALUATED)


@pytest.mark.parametrize("latex", [r"\operatorname{Var} d", r"\alpha + 1", r"d \, h"])
def test_unknown_commands_are_refused(latex):
    with pytest.raises(ValueError, match="what is"):
        parse(latex)
