"""Averages of products of contractions over distinct positions.

Two routes lead to the same number: a sum over frequencies, whose cost does not depend on the
sequence length (``geometric``), and the positions themselves (``positions``), for products of so
many contractions that a sum over all combinations of frequencies would cost more.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from math import factorial, perm, prod

from .geometric import spectral_mean
from .positions import by_distance, matrices, matrix_mean
from .trigonometric import LABELS, Encoding, Part, is_free, wave_sum

SPECTRAL_LIMIT = 5e7
"""Combinations of frequencies that are summed at most: some seconds."""
SPECTRAL_SHORT = 1e6
"""The same where matrices over the positions would serve as well, and be faster beyond this."""
MATRIX_LENGTH = 2048
"""Positions for which a matrix over pairs of them is made: 32 MB each."""
MATRIX_LIMIT = 1e11
"""Multiplications that filling such a matrix may take."""
POSITIONS_LIMIT = 100_000
"""Positions beyond which nothing is summed position by position."""

Partition = tuple[tuple[int, ...], ...]


@lru_cache(maxsize=4096)
def place_average(encoding: Encoding, parts: tuple[Part, ...], seq_len: int) -> float | None:
    """The mean of a product of contractions over distinct positions, one for each label in it.

    A free index -1 is averaged over the channels.  None where the sequence has too few positions,
    or where every route would cost out of proportion: beyond ``POSITIONS_LIMIT`` only what
    frequencies can do is done, and no fourth power of what depends on two positions, at any width,
    so that whether there is a value can be told from the length alone.
    """
    merged = merge_free(parts)
    sums = [wave_sum(encoding, part) for part in merged]
    labels = _labels(parts)
    paired = sum(
        len(_labels((part,))) == 2 and one.bands != ()
        for part, one in zip(merged, sums, strict=True)
    )
    if len(labels) > seq_len or (seq_len > POSITIONS_LIMIT and paired >= 4):
        return None
    combinations = prod(1 + sum(len(band.frequencies) for band in one.bands) for one in sums)
    as_matrices = seq_len <= MATRIX_LENGTH and seq_len**2 * encoding.width <= MATRIX_LIMIT
    if combinations <= (SPECTRAL_SHORT if as_matrices else SPECTRAL_LIMIT):
        return _distinct(lambda blocks: spectral_mean(sums, blocks, seq_len), labels, seq_len)
    if as_matrices:
        grids = matrices(sums, labels, seq_len)
        return _distinct(
            lambda blocks: matrix_mean(grids, labels, blocks, seq_len), labels, seq_len
        )
    if seq_len <= POSITIONS_LIMIT and len(labels) <= 2:
        return by_distance(sums, labels, seq_len)
    return None


def merge_free(parts: tuple[Part, ...]) -> list[Part]:
    """Join the contractions that show the free index -1: they are averaged over it together."""
    free = [part for part in parts if is_free(part)]
    closed = [part for part in parts if part not in free]
    joined: list[tuple[str, tuple[int, ...]]] = []
    offset = 0
    for part in free:
        joined += [
            (name, tuple(i + offset if i >= 0 else i for i in indices)) for name, indices in part
        ]
        offset += 1 + max((i for _, indices in part for i in indices), default=-1)
    return ([tuple(sorted(joined))] if joined else []) + closed


def _labels(parts: tuple[Part, ...]) -> tuple[int, ...]:
    shown = {letter for part in parts for name, _ in part for letter in name.partition("_")[2]}
    return tuple(place for place, label in enumerate(LABELS) if label in shown)


def _set_partitions(labels: tuple[int, ...]) -> list[Partition]:
    if not labels:
        return [()]
    first, result = labels[0], []
    for smaller in _set_partitions(labels[1:]):
        result.append(((first,), *smaller))
        result += [
            (*smaller[:i], (first, *block), *smaller[i + 1 :]) for i, block in enumerate(smaller)
        ]
    return result


def _distinct(mean: Callable[[Partition], float], labels: tuple[int, ...], n: int) -> float:
    """Mean over distinct positions from means over free ones.

    Moebius inversion over the set partitions of the k labels, n positions being there:

        sum over partitions of prod over blocks (-1)^(|b|-1) (|b|-1)! mean(blocks) n^blocks,

    divided by the number n (n-1) ... (n-k+1) of choices of distinct positions.
    """
    total = 0.0
    for blocks in _set_partitions(labels):
        sign = prod((-1) ** (len(block) - 1) * factorial(len(block) - 1) for block in blocks)
        total += sign * mean(blocks) * (n ** len(blocks) / perm(n, len(labels)))
    return total
