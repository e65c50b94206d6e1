"""Contractions of fixed encodings as trigonometric polynomials of the positions.

An entry of a sinusoidal table or of a rotation is a sine or cosine of frequency times position.  A
contraction is a sum over blocks of channels (one frequency each) of products of such entries, so
it is a constant plus, for each frequency w, a sum of c_n exp(i w (n . positions)) with integer
vectors n and coefficients c_n that are the same for all frequencies.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import product

import numpy as np
from numpy.typing import NDArray

LABELS = ("t", "s", "r")
Wave = tuple[int, int, int]
Waves = dict[Wave, complex]
Part = tuple[tuple[str, tuple[int, ...]], ...]
Place = Mapping[str, int]
STILL: Wave = (0, 0, 0)


@dataclass(frozen=True, eq=False)
class Band:
    """Frequencies that share their coefficients."""

    frequencies: NDArray[np.float64]
    waves: tuple[tuple[Wave, complex], ...]


@dataclass(frozen=True)
class Encoding:
    """A fixed encoding of one size.

    ``kind`` is "sinusoidal" (a table, entries f_t[channel]) or "rotary" (rotations R_t and,
    between two places, R_ts = R_t^T R_s); ``width`` is the number of channels, of which the first
    ``turning`` carry frequencies base^(-2k/turning) in pairs; for an odd sinusoidal width the last
    channel is a lone sine.
    """

    kind: str
    width: int
    turning: int
    base: float

    @property
    def pairs(self) -> int:
        """How many frequencies have two channels."""
        return self.turning // 2

    def frequencies(self) -> NDArray[np.float64]:
        """Frequency of each pair of channels, and of the lone sine if there is one."""
        pairs = np.arange((self.turning + 1) // 2, dtype=np.float64)
        frequencies: NDArray[np.float64] = self.base ** (pairs * (-2.0 / self.turning))
        return frequencies

    def table(self, positions: NDArray[np.int64]) -> NDArray[np.float64]:
        """Sinusoidal entries, shape (positions, width)."""
        angles = np.asarray(positions)[:, None] * self.frequencies()
        table = np.empty((len(angles), self.width))
        table[:, 0::2] = np.sin(angles)
        table[:, 1::2] = np.cos(angles[:, : self.pairs])
        return table


def is_free(part: Part) -> bool:
    """Whether a contraction shows the free index, a channel."""
    return any(index < 0 for _, indices in part for index in indices)


def _opposite(wave: Wave) -> Wave:
    return -wave[0], -wave[1], -wave[2]


def _sine(wave: Wave) -> Waves:
    return {wave: -0.5j, _opposite(wave): 0.5j}


def _cosine(wave: Wave) -> Waves:
    return {wave: 0.5, _opposite(wave): 0.5}


def _wave(name: str) -> Wave:
    """The phase of a factor: f_t and R_t turn with t, R_ts with s - t."""
    labels = name.partition("_")[2]
    signs = dict.fromkeys(LABELS, 0)
    signs[labels[-1]] += 1
    if len(labels) == 2:
        signs[labels[0]] -= 1
    return signs["t"], signs["s"], signs["r"]


@lru_cache(maxsize=4096)
def _entry(name: str, channels: tuple[int, ...]) -> Waves:
    """One entry of a pair of channels: of (sin, cos), or of a rotation (cos, -sin; sin, cos)."""
    wave = _wave(name)
    if len(channels) == 1:
        return _sine(wave) if channels[0] == 0 else _cosine(wave)
    row, column = channels
    if row == column:
        return _cosine(wave)
    sign = 1 if row > column else -1
    return {n: sign * c for n, c in _sine(wave).items()}


def _multiply(left: Waves, right: Waves) -> Waves:
    result: Waves = {}
    for (n, a), (m, b) in product(left.items(), right.items()):
        wave = (n[0] + m[0], n[1] + m[1], n[2] + m[2])
        result[wave] = result.get(wave, 0) + a * b
    return {wave: c for wave, c in result.items() if c}


def _assignments(part: Part, channels: Sequence[int], held: int | None) -> Iterator[dict[int, int]]:
    summed = sorted({i for _, indices in part for i in indices if i >= 0 or held is None})
    for values in product(channels, repeat=len(summed)):
        chosen = dict(zip(summed, values, strict=True))
        if held is not None:
            chosen[-1] = held
        yield chosen


@lru_cache(maxsize=4096)
def block_waves(
    part: Part, channels: tuple[int, ...], held: int | None = None
) -> tuple[tuple[Wave, complex], ...]:
    """Sum a contraction over the channels of one block, and over a free index unless it is held."""
    total: Waves = {}
    for chosen in _assignments(part, channels, held):
        term: Waves = {STILL: 1}
        for name, indices in part:
            term = _multiply(term, _entry(name, tuple(chosen[i] for i in indices)))
        for wave, c in term.items():
            total[wave] = total.get(wave, 0) + c
    return tuple((wave, c) for wave, c in sorted(total.items()) if c)


@dataclass(frozen=True, eq=False)
class WaveSum:
    """A constant and bands of waves: one contraction as a function of the positions."""

    constant: float
    bands: tuple[Band, ...]

    def at(self, place: Place) -> float:
        """The value at given positions."""
        value = self.constant
        position = [place.get(label, 0) for label in LABELS]
        for band in self.bands:
            for wave, c in band.waves:
                steps = sum(n * p for n, p in zip(wave, position, strict=True))
                value += float((c * np.exp(1j * band.frequencies * steps)).real.sum())
        return value


def wave_sum(encoding: Encoding, part: Part, channel: int | None = None) -> WaveSum:
    """The contraction ``part`` as a function of position.

    A free index -1 is averaged over the channels, or held at ``channel``.
    """
    free = is_free(part)
    frequencies = encoding.frequencies()
    lone = encoding.turning % 2
    bands: list[tuple[NDArray[np.float64], tuple[tuple[Wave, complex], ...]]] = []
    still = 1.0
    if not free or channel is None:
        bands.append((frequencies[: encoding.pairs], block_waves(part, (0, 1))))
        if lone:
            bands.append((frequencies[encoding.pairs :], block_waves(part, (0,))))
        still = float(encoding.width - encoding.turning)
    elif channel < encoding.turning:
        block = channel // 2
        alone = lone and block == encoding.pairs
        bands.append(
            (
                frequencies[block : block + 1],
                block_waves(part, (0,) if alone else (0, 1), channel % 2),
            )
        )
        still = 0.0
    scale = 1.0 / encoding.width if free and channel is None else 1.0
    constant = still
    moving = []
    for band, waves in bands:
        constant += len(band) * sum(c.real for wave, c in waves if wave == STILL)
        turning = tuple((wave, c * scale) for wave, c in waves if wave != STILL)
        if turning and len(band):
            moving.append(Band(band, turning))
    return WaveSum(constant * scale, tuple(moving))
