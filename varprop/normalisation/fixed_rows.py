"""The fixed parts of rows with sinusoidal positions, position by position."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property, reduce
from typing import Any

import numpy as np

from varprop.encodings import Encoding
from varprop.fields.numeric import Floats

from .limits import LONGEST
from .record import Record

LARGEST = 2**26
"""Entries of a table that are made at most, a part at a time."""
KEPT = 2**21
"""Entries of a table that is made once and kept."""
PART = 2**17
"""Entries of a part of one that is not: they stay in the processor's cache."""


class FixedRows:
    """The rows f~_t = amplitude f_t + mean, less their own mean for LayerNorm."""

    def __init__(self, record: Record) -> None:
        assert record.base is not None
        self.record = record
        self._sums: dict[int, Floats] = {}
        self.encoding = Encoding("sinusoidal", record.width, record.width, record.base)

    @cached_property
    def same(self) -> bool:
        """Whether all rows are equally long: sines and cosines come in pairs."""
        return not self.record.layernorm and self.record.level == 0 and self.record.width % 2 == 0

    @property
    def possible(self) -> bool:
        """Whether they can be made at all."""
        record = self.record
        return record.length <= LONGEST and record.length * record.width <= LARGEST

    def rows(self, positions: Any) -> Floats:
        """f~ at these positions, shape (positions, d_model)."""
        return self._fixed(self.encoding.table(np.asarray(positions)))

    def _fixed(self, sinusoids: Floats) -> Floats:
        table = self.record.amplitude * sinusoids
        if self.record.layernorm:
            centred: Floats = table - table.mean(axis=1, keepdims=True)
            return centred
        return table + self.record.level if self.record.level else table

    def parts(self) -> Iterator[tuple[slice, Floats]]:
        """All rows, in parts of bounded size."""
        record = self.record
        if record.length * record.width <= KEPT:
            yield slice(0, record.length), self._kept
            return
        step = max(1, PART // record.width)
        frequencies, pairs = self.encoding.frequencies(), self.encoding.pairs
        angles = np.arange(step)[:, None] * frequencies
        sines, cosines = np.sin(angles), np.cos(angles)
        table = np.empty((step, record.width))
        for first in range(0, record.length, step):
            # sin(a + b) and cos(a + b) from those of a and b, which a sine each would take longer
            sine, cosine = np.sin(first * frequencies), np.cos(first * frequencies)
            table[:, 0::2] = sine * cosines + cosine * sines
            table[:, 1::2] = (cosine * cosines - sine * sines)[:, :pairs]
            last = min(first + step, record.length)
            yield slice(first, last), self._fixed(table[: last - first])

    @cached_property
    def _kept(self) -> Floats:
        return self.rows(np.arange(self.record.length))

    def sums(self, power: int) -> Floats:
        """sum_c f~_tc^power at each position t, shape (length,)."""
        if power not in self._sums:
            line = np.empty(self.record.length)
            for part, rows in self.parts():
                line[part] = reduce(np.multiply, [rows] * power).sum(axis=1)
            self._sums[power] = line
        return self._sums[power]

    def weighted(self, line: Any) -> Floats:
        """sum_t line_t f~_t, shape (d_model,); ``line`` is a number where it is constant."""
        line, total = np.broadcast_to(line, self.record.length), np.zeros(self.record.width)
        for part, rows in self.parts():
            total += line[part] @ rows
        return total
