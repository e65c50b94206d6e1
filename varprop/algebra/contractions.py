"""Sums over products of contracted fixed tensors: what an expectation is."""

from __future__ import annotations

from itertools import product

from .graphs import Graph
from .laws import Unknown
from .polynomials import ONE, Polynomial


class Contractions(dict[Graph, Polynomial]):
    """Maps products of contracted fixed tensors (canonical graphs) to polynomial coefficients."""

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

    def scaled(self, factor: Polynomial) -> Contractions:
        """Return the sum times a scalar polynomial."""
        result = Contractions()
        result.accumulate(self, factor)
        return result

    def known(self) -> Contractions:
        """Return the sum itself, if all the cumulants in it were given.

        Raises:
            ValueError: names the tensor and the order of one that was not.
        """
        unknown = {
            generator
            for coefficient in self.values()
            for monomial in coefficient
            for generator, _ in monomial
            if isinstance(generator, Unknown)
        }
        if unknown:
            first = min(unknown, key=lambda cumulant: (len(cumulant.members), cumulant))
            raise ValueError(
                f"{first} is needed and was not given; accepted: cumulants= up to that order"
                + (" or excess_kurtosis=" if len(first.members) <= 4 else "")
            )
        return self
