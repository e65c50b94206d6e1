"""Expectations of products of tensors, by nested conditioning and set partitions.

For independent entries, E of a product is the sum over set partitions of its factors of the product of the
blocks' cumulants, where each block makes its indices equal.  Here one block is taken at a time, the one
that holds the first factor, and what is left is brought to canonical form and looked up: pairings that
differ only by the names of summed indices are counted once.  Tensors defined from others stay closed until
everything random outside them has been averaged over, so that weights go before tokens.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from functools import lru_cache
from itertools import count, product
from math import comb

from .graphs import Component, Factor, Graph, canonical_component, canonical_graph
from .polynomials import ONE, Polynomial, scalar
from .tensors import Contraction, Leaf, Ones, Sum, Tensor, node


class Contractions(dict[Graph, Polynomial]):
    """A sum over products of contracted fixed tensors, each with its polynomial coefficient."""

    def accumulate(self, other: Contractions, factor: Polynomial = ONE) -> None:
        """Add ``factor * other`` in place."""
        for graph, coefficient in other.items():
            total = self.setdefault(graph, Polynomial())
            total.accumulate(coefficient if factor is ONE else coefficient * factor)
            if not total:
                del self[graph]

    def __mul__(self, other: Contractions) -> Contractions:
        result = Contractions()
        for (left, a), (right, b) in product(self.items(), other.items()):
            result.accumulate(Contractions({tuple(sorted(left + right)): a * b}))
        return result

    def __add__(self, other: Contractions) -> Contractions:
        result = Contractions({graph: Polynomial(value) for graph, value in self.items()})
        result.accumulate(other)
        return result

    def scaled(self, factor: Polynomial) -> Contractions:
        """Return the sum times a scalar polynomial."""
        result = Contractions()
        result.accumulate(self, factor)
        return result


UNIT = Contractions({(): ONE})


@lru_cache(maxsize=100_000)
def expectation(graph: Graph) -> Contractions:
    """The expected value of a product, as contractions of fixed tensors.

    Raises:
        ValueError: if a cumulant is needed that was not given; it names the tensor and the order.
    """
    settled = tuple(component for component in graph if _is_settled(component))
    result = UNIT
    for group in _independent_groups(component for component in graph if not _is_settled(component)):
        result = result * _group_expectation(group)
        if not result:
            return result
    return result * Contractions({settled: ONE}) if settled else result


def _is_settled(component: Component) -> bool:
    return all(isinstance(node(number), Leaf) and not node(number).laws for number, _ in component)


def _independent_groups(components: Iterable[Component]) -> list[Graph]:
    """Components that share no random tensor are independent: their expectations multiply."""
    groups: list[tuple[frozenset[object], Graph]] = []
    for component in components:
        laws = frozenset[object]().union(*(node(number).laws for number, _ in component))
        together: Graph = (component,)
        apart = []
        for group in groups:
            if laws & group[0]:
                laws, together = laws | group[0], group[1] + together
            else:
                apart.append(group)
        groups = [*apart, (laws, together)]
    return [tuple(sorted(members)) for _, members in groups]


@lru_cache(maxsize=100_000)
def _group_expectation(group: Graph) -> Contractions:
    factors = _with_distinct_indices(group)
    composites = [factor for factor in factors if not isinstance(node(factor[0]), Leaf)]
    hidden = frozenset[object]().union(*(node(number).laws for number, _ in composites))
    exposed = [factor for factor in factors if (law := node(factor[0]).law) and law.key not in hidden]
    if exposed:
        widest = max(exposed, key=lambda factor: (len(factor[1]), factor))
        return _average_over(widest, factors)
    outermost = max(composites, key=lambda factor: (node(factor[0]).height, factor))
    return _open(outermost, factors)


def _with_distinct_indices(graph: Graph) -> list[Factor]:
    """Number the summed indices of all components apart."""
    factors, offset = [], 0
    for component in graph:
        used = 1 + max((index for _, indices in component for index in indices), default=-1)
        for number, indices in component:
            factors.append((number, tuple(i + offset if i >= 0 else i for i in indices)))
        offset += max(used, 0)
    return factors


def _average_over(first: Factor, factors: list[Factor]) -> Contractions:
    """Sum over the blocks that the first factor can be in."""
    law = node(first[0]).law
    assert law is not None
    others = Counter(factors)
    others[first] -= 1
    partners = [f for f in others if (f_law := node(f[0]).law) and f_law.key == law.key and others[f]]
    largest = law.highest or sum(others[partner] for partner in partners) + 1
    result = Contractions()
    for chosen in _selections([others[partner] for partner in partners], largest - 1):
        block = [first] + [p for p, times in zip(partners, chosen, strict=True) for _ in range(times)]
        names = _identified([indices for _, indices in block])
        if names is None:
            continue
        cumulant = law.cumulant(tuple(sorted(_name(number) for number, _ in block)))
        if cumulant is not None and not cumulant:
            continue
        rest = others.copy()
        rest.subtract(dict(zip(partners, chosen, strict=True)))
        left = [
            (number, tuple(names.get(index, index) for index in indices))
            for number, indices in rest.elements()
        ]
        remaining = expectation(canonical_graph(left))
        if not remaining:
            continue
        if cumulant is None:
            raise ValueError(
                f"{_name(first[0])}: the cumulant of order {len(block)} is needed and was not given; "
                "accepted: excess_kurtosis=, or cumulants= up to that order"
            )
        ways = scalar(1)
        for partner, times in zip(partners, chosen, strict=True):
            ways = ways * scalar(comb(others[partner], times))
        result.accumulate(remaining, cumulant * ways * _sizes_of_vanished(block, names, left))
    return result


def _name(number: int) -> str:
    tensor = node(number)
    assert isinstance(tensor, Leaf)
    return tensor.name


def _selections(available: list[int], most: int) -> Iterator[tuple[int, ...]]:
    """All ways to take at most so many of each kind, and at most ``most`` in all."""
    if not available:
        yield ()
        return
    for taken in range(min(available[0], most) + 1):
        for others in _selections(available[1:], most - taken):
            yield (taken, *others)


def _identified(indices: list[tuple[int, ...]]) -> dict[int, int] | None:
    """Rename summed indices so that all tuples become equal; None if two letters would have to coincide."""
    names: dict[int, int] = {}

    def resolve(index: int) -> int:
        while index in names:
            index = names[index]
        return index

    for other in indices[1:]:
        for left, right in zip(indices[0], other, strict=True):
            one, two = resolve(left), resolve(right)
            if one != two:
                if one < 0 and two < 0:
                    return None
                names[max(one, two)] = min(one, two)
    return {index: resolve(index) for index in names}


def _sizes_of_vanished(block: list[Factor], names: dict[int, int], left: list[Factor]) -> Polynomial:
    """A summed index that no remaining factor shows is a factor of its size."""
    still_there = {index for _, indices in left for index in indices}
    vanished = {}
    for number, indices in block:
        for index, size in zip(indices, node(number).shape, strict=True):
            root = names.get(index, index)
            if root >= 0 and root not in still_there:
                vanished[root] = size
    result = ONE
    for size in vanished.values():
        result = result * scalar(size)
    return result


def _open(composite: Factor, factors: list[Factor]) -> Contractions:
    """Replace one tensor by its definition."""
    number, indices = composite
    others = list(factors)
    others.remove(composite)
    tensor = node(number)
    if isinstance(tensor, Ones):
        return expectation(canonical_graph(others)).scaled(_sizes_of_vanished([composite], {}, others))
    result = Contractions()
    if isinstance(tensor, Sum):
        for coefficient, term in tensor.terms:
            result.accumulate(expectation(canonical_graph([*others, (term.number, indices)])), coefficient)
        return result
    assert isinstance(tensor, Contraction)
    fresh = count(1 + max((index for _, used in factors for index in used), default=0))
    letters = dict(zip(tensor.output, indices, strict=True))
    for operand_letters in tensor.inputs:
        for letter in operand_letters:
            if letter not in letters:
                letters[letter] = next(fresh)
    inside = [
        (operand.number, tuple(letters[letter] for letter in operand_letters))
        for operand_letters, operand in zip(tensor.inputs, tensor.tensors, strict=True)
    ]
    return expectation(canonical_graph(others + inside))


def entry_product(entries: Iterable[tuple[Tensor, tuple[int, ...]]]) -> Contractions:
    """The expected product of entries whose letters have been numbered (all negative)."""
    return expectation(canonical_graph([(tensor.number, indices) for tensor, indices in entries]))


def relabelled(component: Component) -> tuple[tuple[str, tuple[int, ...]], ...]:
    """The component in a form that depends on the names of its tensors only, not on their numbers."""
    ranks = {name: rank for rank, name in enumerate(sorted({_name(number) for number, _ in component}))}
    names = {rank: name for name, rank in ranks.items()}
    ordered = canonical_component([(ranks[_name(number)], indices) for number, indices in component])
    return tuple((names[rank], indices) for rank, indices in ordered)
