"""Expectations of products of tensors, by nested conditioning and set partitions.

For independent entries, E of a product is the sum over set partitions of its factors of the product
of the blocks' cumulants, where each block makes its indices equal:

    E[x_i x_j ...] = sum over partitions, prod over blocks B of kappa_|B| [all indices of B equal]

Here one block is taken at a time, the one that holds the first factor, and what is left is brought
to canonical form and looked up: pairings that differ only by the names of summed indices are
counted once.  Tensors defined from others stay closed until everything random outside them has been
averaged over, so that weights go before tokens.

Reference: T. P. Speed, Cumulants and partition lattices, Austral. J. Statist. 25 (1983); for
Gaussians it is Isserlis' (Wick's) theorem.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Generator, Iterable
from itertools import count
from math import comb, prod

from .blocks import identified, selections, sizes_of_vanished
from .contractions import Contractions
from .graphs import Component, Factor, Graph, canonical_component, canonical_graph
from .polynomials import ONE, scalar
from .registry import node
from .tensors import Contraction, Leaf, Ones, Sum, Tensor

Steps = Generator[Graph, Contractions, Contractions]
"""A derivation: yields the products whose expectations it needs, and returns its own."""

MOST_REMEMBERED = 50_000
"""Expectations that are kept; beyond that all are forgotten."""
_REMEMBERED: dict[Graph, Contractions] = {}


def entry_product(entries: Iterable[tuple[Tensor, tuple[int, ...]]]) -> Contractions:
    """The expected product of entries whose letters have been numbered (all negative).

    Raises:
        ValueError: if a cumulant is needed that was not given; it names the tensor and the order.
    """
    return expectation(entries).known()


def expectation(entries: Iterable[tuple[Tensor, tuple[int, ...]]]) -> Contractions:
    """As :func:`entry_product`, but with cumulants that were not given left in as ``Unknown``.

    Derivations wait for each other on a list and not on Python's stack, so that no chain of tensors
    is too deep.  What they return is remembered, up to a bound.
    """
    if len(_REMEMBERED) > MOST_REMEMBERED:
        _REMEMBERED.clear()
    held = list(entries)  # and with them all tensors that they are made of
    graph = canonical_graph((tensor.number, indices) for tensor, indices in held)
    answer = _REMEMBERED.get(graph)
    waiting = [] if answer is not None else [(graph, _derivation(graph))]
    while waiting:
        graph, steps = waiting[-1]
        try:
            needed = steps.send(answer)  # type: ignore[arg-type]  # None starts a generator
        except StopIteration as finished:
            answer = _REMEMBERED[graph] = finished.value
            waiting.pop()
        else:
            answer = _REMEMBERED.get(needed)
            if answer is None:
                waiting.append((needed, _derivation(needed)))
    assert answer is not None
    return answer


def _derivation(graph: Graph) -> Steps:
    """Split off what is settled or independent; average over one block, or open one definition."""
    settled, groups = _groups(graph)
    if settled or len(groups) != 1:
        result = Contractions({settled: ONE})
        for group in groups:
            result = result * (yield group)
            if not result:
                break
        return result
    factors = _with_distinct_indices(graph)
    composites = [factor for factor in factors if not isinstance(node(factor[0]), Leaf)]
    hidden = frozenset[object]().union(*(node(number).laws for number, _ in composites))
    exposed = [factor for factor in factors if not node(factor[0]).laws <= hidden]
    if exposed:
        widest = max(exposed, key=lambda factor: (len(factor[1]), factor))
        return (yield from _average_over(widest, factors))
    outermost = max(composites, key=lambda factor: (node(factor[0]).height, factor))
    return (yield from _open(outermost, factors))


def _groups(graph: Graph) -> tuple[Graph, list[Graph]]:
    """The components of fixed tensors only, and those that share no random tensor with each other.

    The latter are independent: their expectations multiply.
    """
    settled: list[Component] = []
    groups: list[tuple[frozenset[object], Graph]] = []
    for component in graph:
        tensors = [node(number) for number, _ in component]
        laws = frozenset[object]().union(*(tensor.laws for tensor in tensors))
        if not laws and all(isinstance(tensor, Leaf) for tensor in tensors):
            settled.append(component)
            continue
        together: Graph = (component,)
        apart = []
        for group in groups:
            if laws & group[0]:
                laws, together = laws | group[0], group[1] + together
            else:
                apart.append(group)
        groups = [*apart, (laws, together)]
    return tuple(settled), [tuple(sorted(members)) for _, members in groups]


def _with_distinct_indices(graph: Graph) -> list[Factor]:
    """Number the summed indices of all components apart."""
    factors: list[Factor] = []
    offset = 0
    for component in graph:
        factors += [
            (number, tuple(i + offset if i >= 0 else i for i in indices))
            for number, indices in component
        ]
        offset += _next_index(component)
    return factors


def _next_index(factors: Iterable[Factor]) -> int:
    """The least number beyond all summed indices."""
    return 1 + max((i for _, indices in factors for i in indices if i >= 0), default=-1)


def _average_over(first: Factor, factors: list[Factor]) -> Steps:
    """Sum over the blocks that the first factor can be in."""
    law = _leaf(first[0]).law
    assert law is not None
    others = Counter(factors)
    others[first] -= 1
    available = {
        other: times
        for other, times in others.items()
        if times and law.key in node(other[0]).laws and isinstance(node(other[0]), Leaf)
    }
    largest = law.highest or 1 + sum(available.values())
    result = Contractions()
    for chosen in selections(list(available.values()), largest - 1):
        partners = dict(zip(available, chosen, strict=True))
        block = [first, *Counter(partners).elements()]
        names = identified([indices for _, indices in block])
        terms = law.cumulant(tuple(sorted(_leaf(number).name for number, _ in block)))
        if names is None or not terms:
            continue
        rest = others.copy()
        rest.subtract(partners)
        ways = scalar(prod(comb(others[partner], times) for partner, times in partners.items()))
        for cumulant, fields in terms:
            left = [
                (number, tuple(names.get(index, index) for index in indices))
                for number, indices in [*rest.elements(), *((field, first[1]) for field in fields)]
            ]
            remaining = yield canonical_graph(left)
            if remaining:
                weight = cumulant * ways * sizes_of_vanished(block, names, left)
                result.accumulate(remaining, weight)
    return result


def _open(composite: Factor, factors: list[Factor]) -> Steps:
    """Replace one tensor by its definition."""
    number, indices = composite
    others = list(factors)
    others.remove(composite)
    tensor = node(number)
    result = Contractions()
    if isinstance(tensor, Ones):
        rest = yield canonical_graph(others)
        result.accumulate(rest, sizes_of_vanished([composite], {}, others))
    elif isinstance(tensor, Sum):
        for coefficient, term in tensor.terms:
            part = yield canonical_graph([*others, (term.number, indices)])
            result.accumulate(part, coefficient)
    else:
        assert isinstance(tensor, Contraction)
        fresh = count(_next_index(factors))
        letters = dict(zip(tensor.output, indices, strict=True))
        for letter in "".join(tensor.inputs):
            if letter not in letters:
                letters[letter] = next(fresh)
        inside = [
            (operand.number, tuple(letters[letter] for letter in shown))
            for shown, operand in zip(tensor.inputs, tensor.tensors, strict=True)
        ]
        return (yield canonical_graph(others + inside))
    return result


def relabelled(component: Component) -> tuple[tuple[str, tuple[int, ...]], ...]:
    """The component in a form that depends on its tensors' names only, not on their numbers."""
    ranks = {name: r for r, name in enumerate(sorted({_leaf(n).name for n, _ in component}))}
    names = {rank: name for name, rank in ranks.items()}
    ordered = canonical_component([(ranks[_leaf(n).name], indices) for n, indices in component])
    return tuple((names[rank], indices) for rank, indices in ordered)


def _leaf(number: int) -> Leaf:
    tensor = node(number)
    assert isinstance(tensor, Leaf)
    return tensor
