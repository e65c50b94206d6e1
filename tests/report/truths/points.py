"""Random points at which truths and formulas are compared, and the fixed tables at them."""

from types import SimpleNamespace
from typing import Any
from zlib import crc32

import numpy as np


def point(name: str, index: int, given: dict[str, Any]) -> SimpleNamespace:
    """A random point; the same one for the same name and index."""
    rng = np.random.default_rng([crc32(name.encode()), index])
    o = SimpleNamespace(n=3, kappa=rng.uniform(-1.9, 2), rho=rng.uniform(0.1, 0.9))
    for symbol in ("c", "s", "lam", "a", "a_q", "a_k", "b_q", "b_k", "sigma", "omega"):
        setattr(o, symbol, rng.uniform(0.5, 1.5))
    o.eta, o.mu, o.theta = rng.uniform(0.2, 0.9), rng.uniform(-1, 1), rng.uniform(0.1, 3)
    vars(o).update(given)
    o.p, o.x = rng.normal(size=(3, o.d)), rng.normal(size=(2, o.d))
    if "at" in given:
        o.p = sinusoidal(o.d)[list(o.at)]
    o.f_t, o.f_s = o.p[0, 0], o.p[1, 0]
    o.u_t, o.u_s = (o.p[:2] ** 2).sum(1)
    o.w_ts, o.w_sr, o.p_bar = o.p[0] @ o.p[1], o.p[1] @ o.p[2], o.p.mean()
    o.norm_t, o.norm_s = np.sqrt((o.x**2).sum(1))
    o.inner = o.x[0] @ o.x[1]
    o.R = rotation(rng.uniform(0.1, 3, o.h // 2), o.h)
    o.tau, o.tau_2 = np.trace(o.R), np.trace(o.R @ o.R)
    return o


def sinusoidal(d: int, length: int = 40, base: float = 10000.0) -> np.ndarray:
    """The table of the positional encoding, channel by channel from its definition."""
    t = np.arange(length)
    waves = [(np.cos if i % 2 else np.sin)(base ** (-2 * (i // 2) / d) * t) for i in range(d)]
    return np.stack(waves, axis=1)


def rotation(angles: Any, h: int) -> np.ndarray:
    """Pairs of channels turned by the angles, the rest left."""
    turned = np.eye(h)
    for pair, angle in enumerate(angles):
        block = [[np.cos(angle), -np.sin(angle)], [np.sin(angle), np.cos(angle)]]
        turned[2 * pair : 2 * pair + 2, 2 * pair : 2 * pair + 2] = block
    return turned
