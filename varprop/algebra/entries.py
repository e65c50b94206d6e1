"""Entries of tensors: letters that name index values."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from .text import shown

if TYPE_CHECKING:
    from .tensors import Tensor


class Entry:
    """One entry of a tensor, ``q["t", "a"]``; a letter used twice is one index value."""

    def __init__(self, tensor: Tensor, letters: tuple[Any, ...]) -> None:
        """Name an index value for each index.

        Raises:
            TypeError: if a letter is no identifier.
            ValueError: if there are not as many letters as indices.
        """
        for letter in letters:
            if not isinstance(letter, str) or not letter.isidentifier():
                raise TypeError(
                    f"{tensor!r}: index {shown(letter)}; accepted: a letter such as 't'"
                )
        if len(letters) != len(tensor.shape):
            raise ValueError(
                f"{tensor!r}: got {len(letters)} letters; accepted: {len(tensor.shape)}, "
                "one for each index, as in q['t', 'a']"
            )
        self.tensor, self.letters = tensor, letters

    def __repr__(self) -> str:
        return f"{self.tensor!r} at {', '.join(self.letters)}"


def letter_sizes(entries: Iterable[Entry]) -> dict[str, Any]:
    """The size that each letter's values run over, in order of the letters' appearance.

    Raises:
        ValueError: if a letter stands for two sizes, or more letters share an index than it has
            values.
    """
    sizes: dict[str, Any] = {}
    together: dict[tuple[Tensor, int], set[str]] = {}
    for entry in entries:
        for axis, (letter, size) in enumerate(zip(entry.letters, entry.tensor.shape, strict=True)):
            if sizes.setdefault(letter, size) != size:
                raise ValueError(
                    f"{entry!r}: index {shown(letter)} is used with two sizes, "
                    f"{shown(sizes[letter])} and {shown(size)}"
                )
            letters = together.setdefault((entry.tensor, axis), set())
            letters.add(letter)
            if isinstance(size, int) and len(letters) > size:
                raise ValueError(
                    f"{entry.tensor!r}: letters {', '.join(sorted(letters))} mean different values "
                    f"of an index of size {size}; accepted: at most {size}"
                )
    return sizes
