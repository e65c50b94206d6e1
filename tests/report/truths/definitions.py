"""What queries, keys and scores are, in NumPy; the configurations are along the first axis."""

from typing import Any

import numpy as np

from ..laws import law

SCORE = r"q_{t} \cdot k_{s}"
OWN = r"q_{t} \cdot k_{t}"


def table(o: Any, rows: int, channels: int | None = None, **changes: float):
    """Shape and law of some rows of the embedding."""
    return (rows, channels or o.d), law(o.s**2, **{"excess_kurtosis": o.kappa, **changes})


def weights(o: Any, value: float, rows: int | None = None, normal: bool = False, **changes: float):
    """Shape and law of a projection; two points where only its variance may matter."""
    return (rows or o.h, o.d), law(value, 0.0 if normal else -2.0, **changes)


def project(W: np.ndarray, x: np.ndarray) -> np.ndarray:
    return np.einsum("...ai,...ti->...ta", W, x)


def score(q: np.ndarray, k: np.ndarray, t: int = 0, s: int = 1) -> np.ndarray:
    return (q[..., t, :] * k[..., s, :]).sum(-1)


def free(o, channel: int = 0):
    """One entry of a query without positions."""
    return lambda E, W: project(W, o.c * E)[:, 0, channel]


def moment(one, other=None):
    return lambda **arrays: one(**arrays) * (other or one)(**arrays)


def independent(o, rows: int = 2, normal: bool = False, held: bool = False):
    drawn = {"Q": weights(o, o.a_q, normal=normal), "K": weights(o, o.a_k, normal=normal)}
    return drawn if held else {"E": table(o, rows), **drawn}


def shared(o, rows: int = 2, held: bool = False):
    drawn = {"W": weights(o, o.a, normal=True)}
    return drawn if held else {"E": table(o, rows), **drawn}


def scoring(o, t: int = 0, s: int = 1, x: Any = None, p: bool = True, R: Any = None):
    """A score of positions t and s; of the held input x, of the sum, or without positions."""

    def statistic(E=None, Q=None, K=None, W=None, Bq=0.0, Bk=0.0):
        rows = x
        if rows is None:
            rows = o.c * E + (o.p[: E.shape[1]] if p else 0)
        q = project(W if Q is None else Q, rows) + (Bq[:, None] if np.ndim(Bq) else Bq)
        k = project(W if K is None else K, rows) + (Bk[:, None] if np.ndim(Bk) else Bk)
        return score(q if R is None else q @ R, k, t, s)

    return statistic
