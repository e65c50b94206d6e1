"""How fast the softmax moments are: python tests/benchmarks/softmax.py

Processor time, medians of runs in turn; ratios are to 10^5 exponentials in NumPy in the same run.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable

import numpy as np

from varprop.quadrature import causal_moments, mixture_moments, softmax_moments

POINTS = 1000


def seconds(action: Callable[[], object]) -> float:
    """Processor time of one call."""
    start = time.process_time()
    action()
    return time.process_time() - start


def main() -> None:
    """Print each time beside its limit, and as a ratio."""
    rng = np.random.default_rng(0)
    n = rng.integers(2, 10**9, POINTS)
    variances = 10 ** rng.uniform(-16, 8, POINTS)
    wide = 10 ** rng.uniform(-1, 3, POINTS)
    nodes, weights = np.polynomial.laguerre.laggauss(24)
    cases: dict[str, tuple[Callable[[], object], float, float]] = {
        # what is read, calls of the limit within it, limit in ms
        "a point, no largest weight": (lambda: softmax_moments(n, variances).entropy, POINTS, 1),
        "  std 0.3 to 30": (lambda: softmax_moments(n, wide).entropy, POINTS, 1),
        "its largest weight": (lambda: softmax_moments(n, variances).max_weight, POINTS, 10),
        "  its largest weight, std 0.3 to 30": (
            lambda: softmax_moments(n, wide).max_weight,
            POINTS,
            10,
        ),
        "a mixture of 24": (lambda: mixture_moments(512, nodes, weights).entropy, 1, 50),
        "the largest weight of a mixture": (
            lambda: mixture_moments(512, nodes, weights).max_weight,
            1,
            50,
        ),
        "causal rows 1 .. 10^5": (lambda: causal_moments(10**5, 1.0).entropy, 1, float("inf")),
    }
    numbers = rng.uniform(-1, 1, 10**5)
    unit = statistics.median(seconds(lambda: np.exp(numbers)) for _ in range(99))
    print(f"10^5 exponentials: {unit * 1e3:.3f} ms; beside it")
    for name, (action, calls, limit) in cases.items():
        action()
        each = statistics.median(seconds(action) for _ in range(3)) / calls
        print(f"  {name:30} {each * 1e3:8.3f} ms  limit {limit:4g} ms {each / unit:8.2f}")


if __name__ == "__main__":
    main()
