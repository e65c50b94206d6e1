"""Mean, second moment and variance of the own token's logit, from what is known of its law."""

from __future__ import annotations

import math

from varprop.outcomes.head import Head
from varprop.outcomes.hidden import Hidden
from varprop.outcomes.own_token import OwnToken

Known = tuple[float | None, float | None, float | None]


def own_moments(hidden: Hidden, head: Head) -> Known:
    """Mean, second moment and variance; None where not known."""
    live, own = hidden.live, OwnToken(hidden, head.factor)
    if live is None:
        return None, None, None
    if live == 0:
        return 0.0, 0.0, 0.0
    if own.independent:  # nothing that is drawn in e is in x
        mean, variance = head.moments()
        if mean is None or variance is None:
            return None, None, None
        return mean, variance + mean**2, variance
    factor_mean = head.factor * float(head.drawn.cumulant(1))
    centred = hidden.centred or factor_mean == 0
    square = _second_moment_of_plain_rows(hidden, head.factor)
    if not own.known or not (own.gaussian or centred):
        return None, square, None
    mean, variance = own.centred_mean, own.centred_variance
    if not centred:
        total, total_square = hidden.sums.of((1,)), hidden.sums.of((1, 1))
        assert total is not None  # as rows are Gaussian
        assert total_square is not None
        variance += 2 * factor_mean * (own.product - mean * total)
        variance += factor_mean**2 * (total_square - total**2)
        mean += factor_mean * total
    if square is None or own.gaussian:
        return mean, variance + mean**2, variance
    return math.copysign(math.sqrt(square - variance), mean), square, variance


def _second_moment_of_plain_rows(hidden: Hidden, factor: float) -> float | None:
    """E (factor sqrt(d) |e|)^2 where x = c e, whatever the law; None if there is more in x."""
    if hidden.turning or any(p.cumulant(1) or p.cumulant(2) for p in hidden.others):
        return None
    mean = 0.0 if hidden.centred else float(hidden.table.cumulant(1))
    square: float = hidden.table_std**2 + mean**2
    return float(factor**2 * hidden.width * hidden.dimensions * square)
