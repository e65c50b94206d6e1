"""Laws: what is known of the random entries of a tensor, as joint cumulants."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping
from typing import Any, NamedTuple

from .polynomials import Polynomial, generator, scalar

Members = tuple[str, ...]
Terms = tuple[tuple[Polynomial, tuple[int, ...]], ...]
"""A cumulant as a sum of polynomials, each times entries of fixed tensors (by their numbers)."""


class Unknown(NamedTuple):
    """A cumulant that was not given; a result must not depend on it."""

    members: Members

    def __str__(self) -> str:
        return f"{', '.join(sorted(set(self.members)))}: the cumulant of order {len(self.members)}"


class Law:
    """The joint distribution of the entries that stand at one index of a family of iid tensors.

    Entries at different indices are independent; entries of the family's members at the same index
    have the joint cumulants that ``cumulant(members)`` returns.  A cumulant may depend on the index
    through entries of fixed tensors of the same shape.
    """

    def __init__(
        self, key: Hashable, cumulant: Callable[[Members], Any], highest: int | None = None
    ) -> None:
        """Name a law by its key.

        Args:
            key: equal for equal laws.
            cumulant: the joint cumulant of the members (sorted, repeated as often as they occur) as
                a scalar, None where it was not given, or a mapping of tuples of fixed tensors to
                such scalars, which stands for the sum of the products at the index.
            highest: the order beyond which all cumulants vanish, if there is one.
        """
        self.key, self.highest = key, highest
        self._cumulant = cumulant
        self._known: dict[Members, Terms] = {}

    def cumulant(self, members: Members) -> Terms:
        """The joint cumulant's terms; the generator ``Unknown`` where it was not given."""
        if members not in self._known:
            value = self._cumulant(members)
            plain = isinstance(value, Polynomial) or not isinstance(value, Mapping)
            parts = {(): value} if plain else value
            terms = (
                (
                    generator(Unknown(members)) if part is None else scalar(part),
                    tuple(tensor.number for tensor in fields),
                )
                for fields, part in parts.items()
            )
            self._known[members] = tuple(term for term in terms if term[0])
        return self._known[members]


def single_law(key: Hashable, orders: dict[int, Polynomial]) -> Law:
    """The law of one tensor with the given cumulants: Gaussian if there are none beyond the second.

    Otherwise orders not named, up to the highest named, are 0 and higher ones unknown.
    """
    highest = max(orders)

    def cumulant(members: Members) -> Any:
        return orders.get(len(members), 0 if len(members) <= highest else None)

    return Law(key, cumulant, 2) if highest <= 2 else Law(key, cumulant)
