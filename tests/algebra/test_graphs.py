"""Canonical forms: equal exactly for products that differ by the names of summed indices."""

from itertools import permutations
from time import perf_counter

from hypothesis import given, settings
from hypothesis import strategies as st

from varprop.algebra.graphs import canonical_graph, connected

INDICES = [-2, -1, 0, 1, 2, 3]


@st.composite
def graphs(draw):
    ranks = [1, 2, 3]
    factors = []
    for _ in range(draw(st.integers(1, 5))):
        number = draw(st.integers(0, 2))
        indices = [draw(st.sampled_from(INDICES)) for _ in range(ranks[number])]
        factors.append((number, tuple(indices)))
    return factors


def renamed(factors, names):
    return [(number, tuple(names.get(i, i) for i in indices)) for number, indices in factors]


def brute_force(factors):
    """The least of all renamings."""
    summed = sorted({i for _, indices in factors for i in indices if i >= 0})
    return min(
        sorted(renamed(factors, dict(zip(summed, order, strict=True))))
        for order in permutations(range(len(summed)))
    )


@settings(max_examples=200, deadline=None)
@given(graphs(), st.randoms(use_true_random=False))
def test_invariant_under_renaming_and_order(factors, random):
    names = dict(zip(range(4), random.sample(range(50), 4), strict=True))
    other = renamed(factors, names)
    random.shuffle(other)
    assert canonical_graph(other) == canonical_graph(factors)


@settings(max_examples=300, deadline=None)
@given(graphs(), st.data())
def test_distinguishes_what_is_different(factors, data):
    other = list(factors)
    place = data.draw(st.integers(0, len(other) - 1))
    number, indices = other[place]
    axis = data.draw(st.integers(0, len(indices) - 1))
    changed = list(indices)
    changed[axis] = data.draw(st.sampled_from(INDICES))
    other[place] = (number, tuple(changed))
    same = brute_force(other) == brute_force(factors)
    assert (canonical_graph(other) == canonical_graph(factors)) == same


def cycles(*lengths):
    factors, start = [], 0
    for length in lengths:
        ring = range(start, start + length)
        factors += [(0, (i, start + (i - start + 1) % length)) for i in ring]
        start += length
    return factors


def test_regular_graphs_that_colours_do_not_tell_apart():
    hub = [(1, (99, i)) for i in range(6)]
    assert canonical_graph(cycles(6) + hub) != canonical_graph(cycles(3, 3) + hub)
    assert canonical_graph(cycles(6)) != canonical_graph(cycles(3, 3))


def test_symmetric_products_are_cheap():
    start = perf_counter()
    canonical_graph([(0, (99, i)) for i in range(12)] + [(1, (i,)) for i in range(12)])
    assert perf_counter() - start < 1


def test_components_share_summed_indices_only():
    assert len(connected([(0, (-1, 0)), (0, (-1, 1)), (1, (1,))])) == 2
