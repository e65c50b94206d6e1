"""The hidden state before the output head: a row of the front's sum after a final norm, eps = 0.

    x = c e + p,  p = learned position or sinusoids, and segment;  y = sqrt(d_model) x / |x|

Every row y has |y|^2 = d_model, after a LayerNorm also sum y = 0, but for rows without direction
(x = 0), which stay 0.
"""

from __future__ import annotations

import math
from functools import cached_property

import numpy as np

from varprop.encodings import Encoding
from varprop.initializers import Initializer
from varprop.initializers.distributions import Distribution
from varprop.norms import LayerNorm
from varprop.outcomes.directions import Directions, directions
from varprop.outcomes.fixed_parts import FixedParts, level_part, sinusoidal_parts
from varprop.outcomes.power_sums import PowerSums
from varprop.positions import Sinusoidal
from varprop.spec import TransformerSpec
from varprop.stages.context import Context

NODES = 16
"""Nodes of the rule for all positions."""

ODD = (3, 5, 7)
"""Orders of the cumulants that vanish if a law is symmetric; laws that are not have a third."""


class Hidden:
    """What the rows of one spec of single numbers are made of, and what is known of y.

    Attributes:
        width, dimensions: d_model, and how many of them a centred row has.
        scale, table_std, other_std: c, the std of an entry of e, and that of the rest's noise.
        std: of an entry of x at one position.
        level: mean of an entry of x but for sinusoids.
        gaussian: whether all noise is.
    """

    def __init__(self, spec: TransformerSpec) -> None:
        self.spec = spec
        self.width = spec.d_model
        self.centred = isinstance(spec.norm, LayerNorm)
        self.dimensions = self.width - self.centred
        self.turning = isinstance(spec.position, Sinusoidal)
        own, (token,), common = Context(spec).rows("input").sources
        self.table, self.scale = token.entry, float(token.scale)
        self.others = [source.entry for source in own + common]
        means = [float(part.cumulant(1)) for part in self.others]
        self.level = math.fsum([self.scale * float(self.table.cumulant(1)), *means])
        self.table_std = math.sqrt(self.table.cumulant(2))
        self.other_std = math.hypot(*(math.sqrt(part.cumulant(2)) for part in self.others))
        self.std = math.hypot(self.scale * self.table_std, self.other_std)

    @cached_property
    def drawn(self) -> list[Distribution]:
        """The laws of what varies from draw to draw."""
        table = [self.table] if self.scale else []
        return [part for part in table + self.others if not part.degenerate]

    @property
    def gaussian(self) -> bool:
        """Whether all noise is Gaussian."""
        return all(part.gaussian for part in self.drawn)

    @property
    def symmetric(self) -> bool:
        """Whether entries are symmetric around 0."""
        skewed = any(part.cumulant(order) != 0 for part in self.drawn for order in ODD)
        return not (self.turning or self.level or skewed)

    @cached_property
    def live(self) -> float | None:
        """The fraction of rows that have a direction; None if only rounding gives them one."""
        if self.dimensions == 0:
            return 0.0
        if self.std > 0:
            return 1.0
        if self.turning:  # sin(0) = 0 alone has none
            alone = self.width == 1 and self.level == 0
            return 1 - 1 / self.spec.seq_len if alone else 1.0
        if self.centred:
            return None if self.level else 0.0
        return 1.0 if self.level else 0.0

    @cached_property
    def fixed(self) -> FixedParts:
        """The fixed parts of rows that have a direction."""
        if not self.turning:
            return level_part(self.level, self.width, self.centred)
        if self._alike:
            length = np.array([math.sqrt(self.width / 2)])
            return FixedParts(length, np.zeros(1), np.zeros(1), np.ones(1))
        base = float(self.spec.number("position.base"))
        encoding = Encoding("sinusoidal", self.width, self.width, base)
        nodes = NODES if self.std > 0 else None
        length = self.spec.seq_len
        parts = sinusoidal_parts(encoding, length, self.level, self.centred, nodes)
        return parts if self.std > 0 else parts.nonzero()

    @property
    def _alike(self) -> bool:
        """Whether |F|^2 = d_model/2 is all that matters of sinusoids, at every position."""
        fields = ["embedding"]
        if isinstance(self.spec.output_head, Initializer):
            fields.append("output_head")
        centred = all(self.spec.distribution(field).cumulant(1) == 0 for field in fields)
        return centred and not (self.centred or self.level or self.width % 2)

    def directions(self, length: float, step: float | None = None) -> Directions:
        """The joint law of noise and cosine, in units of `std`, for a fixed part of this length."""
        if self.std == 0:
            return Directions.still()
        return directions(self.dimensions, min(length / self.std, 1e100), step)

    @cached_property
    def sums(self) -> PowerSums:
        """What is known of sums of powers of y's entries."""
        return PowerSums(self)
