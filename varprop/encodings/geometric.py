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


def spectral_mean(sums: Sequence[WaveSum], blocks: tuple[tuple[int, ...], ...], n: int) -> float:
    """Mean of a product of wave sums where the labels of each block share one position, free of
    the others.
    """
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
    """Expand a product of (constant + bands);

    a constant is a band of one frequency that does not move.
    """
    options = [
        ([Band(np.zeros(1), ((STILL, one.constant),))] if one.constant else []) + list(one.bands)
        for one in sums
    ]
    for chosen in product(*options):
        yield list(chosen)


def _summed_over_frequencies(
    amplitude: complex, frequencies: list[NDArray[np.float64]], steps: list[list[int]], n: int
) -> float:
    """Real part of amplitude * sum over frequencies w_j of the product over blocks of D(sum_j w_j
    steps_j).
    """
    moving = [axis for axis in range(len(frequencies)) if any(row[axis] for row in steps)]
    repeats = prod(len(band) for axis, band in enumerate(frequencies) if axis not in moving)
    if not moving:
        return (amplitude * repeats).real
    axes = [frequencies[axis] for axis in moving]
    rows = [tuple(row[axis] for axis in moving) for row in steps if any(row)]
    whole = [sum(column) for column in zip(*rows, strict=True)]
    chunk = max(1, _CHUNK // prod(len(axis) for axis in axes[1:]))
    mirrored = (
        len(axes) == 2
        and not any(whole)
        and all(abs(row[0]) == abs(row[1]) for row in rows)
        and np.array_equal(axes[0], axes[1])
    )
    total = 0.0
    for start in range(0, len(axes[0]), chunk):
        grid = [axes[0][start : start + chunk], *axes[1:]]
        if mirrored:
            grid[1] = axes[1][start:]
        kernels: dict[tuple[int, ...], NDArray[np.float64]] = {}
        terms: NDArray[np.float64] = np.full((1,) * len(axes), amplitude.real)
        if any(whole):
            phase = _angle(whole, grid) * ((n - 1) / 2)
            terms = amplitude.real * np.cos(phase) - amplitude.imag * np.sin(phase)
        for row in rows:
            opposite = tuple(-step for step in row)
            if opposite not in kernels:
                kernels[row] = sine_ratio(_angle(row, grid), n)
            terms = terms * kernels[row if row in kernels else opposite]
        total += float(np.sum(terms))
        if mirrored:  # each pair of frequencies beyond this square stands for its mirror image too
            total += float(np.sum(terms[:, len(grid[0]) :]))
    return total * repeats


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
    """sin(n x) / (n sin x) at x = angle/2;

    whole turns are taken out first, each worth (-1)^(n-1).
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
