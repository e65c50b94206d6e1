"""Means over positions taken on the positions themselves, where frequencies would be too many."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import product
from math import prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .trigonometric import Band, Wave, WaveSum

Real = NDArray[np.float64]
Complex = NDArray[np.complex128]
_EXPANSION_LIMIT = 2000
"""Terms of an expanded product, each a correlation by FFT."""


def matrices(
    sums: Sequence[WaveSum], labels: tuple[int, ...], n: int
) -> list[tuple[tuple[int, ...], Real]]:
    """Each wave sum as an array over the positions of the one or two labels that it depends on."""
    grids = []
    for one in sums:
        shown = tuple(
            label for label in labels if any(w[label] for band in one.bands for w, _ in band.waves)
        )
        grid = np.full((n,) * len(shown), one.constant)
        for band in one.bands:
            for wave, c in band.waves:
                steps = [wave[label] for label in shown]
                if len(steps) == 1:
                    grid += _on_line(c, band, steps[0], np.arange(n))
                else:
                    left, right = (
                        np.exp(1j * np.outer(np.arange(n), s * band.frequencies)) for s in steps
                    )
                    grid += (c * left @ right.T).real
        grids.append((shown, grid))
    return grids


def matrix_mean(
    grids: Sequence[tuple[tuple[int, ...], Real]],
    labels: tuple[int, ...],
    blocks: tuple[tuple[int, ...], ...],
    n: int,
) -> float:
    """Mean of the product over one free position for each block of labels."""
    block_of = {label: place for place, block in enumerate(blocks) for label in block}
    operands: list[object] = []
    for shown, grid in grids:
        operands += [grid, [block_of[label] for label in shown]]
    summed = {block_of[label] for shown, _ in grids for label in shown}
    einsum: Callable[..., Any] = np.einsum  # its overloads do not know operands in a list
    return float(einsum(*operands, [], optimize=True) / n ** len(summed))


def _on_line(c: complex, band: Band, step: int, places: NDArray[np.int64]) -> Real:
    """Real part of sum_w c exp(i w step p) for consecutive places p.

    exp(i w p) is a product of a coarse and a fine step: n places take 2 sqrt(n) exponentials each.
    """
    width = max(1, round(len(places) ** 0.5))
    coarse = np.arange(places[0], places[-1] + 1, width)
    angles = step * band.frequencies
    total = np.exp(1j * np.outer(coarse, angles)) @ (
        c * np.exp(1j * np.outer(angles, np.arange(width)))
    )
    line: Real = total.real.ravel()[: len(places)]
    return line


def by_distance(sums: Sequence[WaveSum], labels: tuple[int, ...], n: int) -> float | None:
    """Mean over distinct positions of one or two labels, in n steps for each frequency.

    Each wave sum splits into a function of the distance, one of each position alone, and waves
    that depend on both, which are products.  Products of all of them are correlations, summed over
    distances by FFT.  None where waves of many frequencies depend on both positions, or the product
    has more than ``_EXPANSION_LIMIT`` terms.
    """
    if not labels:
        return float(prod(one.constant for one in sums))
    first, second = labels[0], labels[-1]
    if first == second:
        lines = [
            _sum_lines(one, lambda wave: wave[first], np.arange(n), one.constant) for one in sums
        ]
        return float(np.mean(np.prod(lines, axis=0)))
    expansion = [_split(one, first, second, n) for one in sums]
    if (
        any(terms is None for terms in expansion)
        or prod(len(t or ()) for t in expansion) > _EXPANSION_LIMIT
    ):
        return None
    total = 0.0
    for chosen in product(*(terms or () for terms in expansion)):
        left, right, distance = (
            np.prod(np.stack(parts), axis=0) for parts in zip(*chosen, strict=True)
        )
        total += float(np.sum(_correlation(left, right) * distance).real)
    return total / (n * (n - 1))


def _sum_lines(
    one: WaveSum, step: Callable[[Wave], int], places: NDArray[np.int64], constant: float
) -> Real:
    """The constant and the waves that ``step`` makes run along consecutive places, if not by 0."""
    line = np.full(len(places), constant)
    for band in one.bands:
        for wave, c in band.waves:
            if step(wave):
                line += _on_line(c, band, step(wave), places)
    return line


def _split(
    one: WaveSum, first: int, second: int, n: int
) -> list[tuple[Complex, Complex, Complex]] | None:
    """Write a wave sum as a sum of f(t) g(s) h(s - t)."""
    ones = np.ones(n, dtype=complex)
    anywhere = np.ones(2 * n - 1, dtype=complex)
    distances = np.arange(1 - n, n)
    by_gap = _sum_lines(
        one, lambda w: w[second] if w[first] == -w[second] else 0, distances, one.constant
    )
    terms = [(ones, ones, by_gap.astype(complex))]
    by_first = _sum_lines(one, lambda w: 0 if w[second] else w[first], np.arange(n), 0.0)
    by_second = _sum_lines(one, lambda w: 0 if w[first] else w[second], np.arange(n), 0.0)
    if by_first.any():
        terms.append((by_first + 0j, ones, anywhere))
    if by_second.any():
        terms.append((ones, by_second + 0j, anywhere))
    for band in one.bands:
        for wave, c in band.waves:
            if wave[first] and wave[second] and wave[first] != -wave[second]:
                if len(band.frequencies) > 1:
                    return None
                turns = 1j * band.frequencies[0] * np.arange(n)
                terms.append(
                    (c * np.exp(wave[first] * turns), np.exp(wave[second] * turns), anywhere)
                )
    return terms


def _correlation(left: Complex, right: Complex) -> Complex:
    """sum_t left(t) right(t + gap) for gaps 1-n ... n-1, with gap 0 left out."""
    n = len(left)
    spectrum = np.fft.fft(left[::-1], 2 * n) * np.fft.fft(right, 2 * n)
    result: Complex = np.fft.ifft(spectrum)[: 2 * n - 1]
    result[n - 1] = 0.0
    return result
