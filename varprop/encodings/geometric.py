"""Means over free positions as sums over frequencies.

The mean of exp(i w t) over t = 0 ... n-1 is D(w) = exp(i w (n-1)/2) sin(n w/2) / (n sin(w/2)), so
a product of contractions costs a sum over combinations of frequencies, whatever n is.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import product
from math import prod

import numpy as np
from numpy.typing import NDArray

from .trigonometric import STILL, Band, WaveSum

_CHUNK = 1 << 18
"""Combinations of frequencies whose kernels are held at once, 2 MB each."""


def spectral_mean(sums: Sequence[WaveSum], blocks: tuple[tuple[int, ...], ...], n: int) -> float:
    """Mean of a product of wave sums over one free position for each block of labels."""
    total = 0.0
    for bands in _expanded(sums):
        for combination in product(*(band.waves for band in bands)):
            waves = [wave for wave, _ in combination]
            first_turn = next((n for wave in waves for n in wave if n), 0)
            if first_turn < 0:
                continue  # the conjugate of a combination that is counted twice below
            amplitude = complex(prod(c for _, c in combination)) * (2 if first_turn else 1)
            steps = [[sum(wave[label] for label in block) for wave in waves] for block in blocks]
            total += _summed_over_frequencies(
                amplitude, [band.frequencies for band in bands], steps, n
            )
    return total


def _expanded(sums: Sequence[WaveSum]) -> Iterator[list[Band]]:
    """Expand a product of (constant + bands), a constant being a band that does not move."""
    options = [
        ([Band(np.zeros(1), ((STILL, one.constant),))] if one.constant else []) + list(one.bands)
        for one in sums
    ]
    for chosen in product(*options):
        yield list(chosen)


def _summed_over_frequencies(
    amplitude: complex, frequencies: list[NDArray[np.float64]], steps: list[list[int]], n: int
) -> float:
    """Real part of amplitude * sum over frequencies w_j of prod over blocks of D(sum w_j steps_j).

    Frequencies that meet in no block are summed apart.
    """
    total = amplitude
    for axes in _meeting(steps, len(frequencies)):
        rows = [tuple(row[axis] for axis in axes) for row in steps]
        moving = [row for row in rows if any(row)]
        total *= _group_sum([frequencies[axis] for axis in axes], moving, n)
    return total.real


def _meeting(steps: list[list[int]], count: int) -> list[list[int]]:
    """Group the axes that have steps in the same block, directly or through others."""
    groups = [{axis} for axis in range(count)]
    for row in steps:
        met = {axis for axis in range(count) if row[axis]}
        joined = [group for group in groups if group & met]
        if joined:
            groups = [group for group in groups if not group & met] + [set().union(*joined)]
    return [sorted(group) for group in groups]


def _group_sum(
    axes: list[NDArray[np.float64]], rows: list[tuple[int, ...]], n: int
) -> complex | float:
    """Sum over all combinations of frequencies of the product over blocks of D."""
    if not rows:
        return prod(len(axis) for axis in axes)
    whole = [sum(column) for column in zip(*rows, strict=True)]
    chunk = max(1, _CHUNK // prod(len(axis) for axis in axes[1:]))
    mirrored = not any(whole) and _is_mirrored(axes, rows)
    total: complex | float = 0.0
    for start in range(0, len(axes[0]), chunk):
        grid = [axes[0][start : start + chunk], *axes[1:]]
        if mirrored:
            grid[1] = axes[1][start:]
        kernels: dict[tuple[int, ...], NDArray[np.float64]] = {}
        terms: NDArray[np.float64] = np.ones((1,) * len(axes))
        for row in rows:
            kernel = kernels.get(_unsigned(row))
            if kernel is None:
                kernel = kernels[_unsigned(row)] = sine_ratio(_angle(row, grid), n)
            terms = terms * kernel
        if any(whole):
            phase = _angle(whole, grid) * ((n - 1) / 2)
            total += complex(np.sum(terms * np.cos(phase)), np.sum(terms * np.sin(phase)))
        else:
            total += float(np.sum(terms))
        if mirrored:  # each pair of frequencies beyond this square stands for its mirror image too
            total += float(np.sum(terms[:, len(grid[0]) :]))
    return total


def _unsigned(row: tuple[int, ...]) -> tuple[int, ...]:
    """The kernel is even: a row and its opposite share it."""
    return max(row, tuple(-step for step in row))


def _is_mirrored(axes: list[NDArray[np.float64]], rows: list[tuple[int, ...]]) -> bool:
    """Whether exchanging two equal axes changes nothing."""
    if len(axes) != 2 or not np.array_equal(axes[0], axes[1]):
        return False
    return sorted(map(_unsigned, rows)) == sorted(_unsigned(row[::-1]) for row in rows)


def _angle(steps: Sequence[int], axes: Sequence[NDArray[np.float64]]) -> NDArray[np.float64]:
    """sum_j steps_j w_j on the grid of frequencies."""
    shape = [1] * len(axes)
    angle: NDArray[np.float64] = np.zeros(shape)
    for place, (step, axis) in enumerate(zip(steps, axes, strict=True)):
        if step:
            angle = angle + (step * axis).reshape(
                [-1 if i == place else 1 for i in range(len(axes))]
            )
    return angle


def sine_ratio(angle: NDArray[np.float64], n: int) -> NDArray[np.float64]:
    """sin(n x) / (n sin x) at x = angle/2, whose limit at whole turns of the angle is 1 or -1.

    Whole turns are taken out first, each worth (-1)^(n-1); angles below half a turn have none.
    """
    turns = np.rint(angle / (2 * np.pi)) if max(angle.max(), -angle.min()) > 3.0 else None
    half = angle * 0.5 if turns is None else (angle - turns * (2 * np.pi)) * 0.5
    denominator = np.sin(half)
    at_zero = denominator == 0
    denominator[at_zero] = 1.0
    half *= n
    ratio: NDArray[np.float64] = np.sin(half)
    ratio /= denominator
    ratio /= n
    ratio[at_zero] = 1.0
    if turns is not None and n % 2 == 0:
        ratio *= 1.0 - 2.0 * np.remainder(turns, 2.0)
    return ratio
