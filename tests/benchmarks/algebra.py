"""How long the engine takes: ``python tests/benchmarks/algebra.py`` (exit code 1 beyond a limit).

Two figures have a limit; the ratios show why: collecting like terms against listing all pairings of
a Gaussian moment, and nested against flat definitions.
"""

import gc
import sys
from collections.abc import Callable, Iterator
from time import process_time
from typing import Any

from varprop import algebra as va
from varprop.algebra import expectation, graphs

h, d, n = va.dims("h d n")
VARIANCE_LIMIT, FOURTH_LIMIT = 0.050, 1.0


def logit(flat: bool = False) -> Any:
    """q_t . k_s / sqrt(h) with positions, and with a general kurtosis of the embedding."""
    W = va.iid("W", (h, d), variance="v_query")
    V = va.iid("V", (h, d), variance="v_key")
    E = va.iid("E", (n, d), variance="s", excess_kurtosis="g")
    x = "c" * E + va.fixed("P", (n, d))
    if flat:
        return va.einsum("ai,ti,aj,sj->ts", W, x, V, x) * "r"
    query, key = va.einsum("ai,ti->ta", W, x), va.einsum("ai,ti->ta", V, x)
    return va.einsum("ta,sa->ts", query, key) * "r"


def pairings(factors: tuple[int, ...]) -> Iterator[list[tuple[int, int]]]:
    """All ways to join factors in pairs."""
    if not factors:
        yield []
    for place, partner in enumerate(factors[1:], start=1):
        rest = factors[1:place] + factors[place + 1 :]
        yield from ([(factors[0], partner), *others] for others in pairings(rest))


def listed_moment(order: int) -> dict[tuple[int, int], int]:
    """E[(W x)_a^order] for Gaussians: all pairings of the Ws, times all of the xs."""
    result: dict[tuple[int, int], int] = {}
    for left in pairings(tuple(range(order))):
        for right in pairings(tuple(range(order))):
            root = list(range(order))
            for one, two in left + right:
                root = [root[one] if r == root[two] else r for r in root]
            key = (len(set(root)), order)
            result[key] = result.get(key, 0) + 1
    return result


def seconds(action: Callable[[], Any]) -> float:
    """The least processor time of five runs, each with empty caches."""
    times = []
    for _ in range(5):
        expectation._REMEMBERED.clear()
        graphs._canonical.cache_clear()
        gc.collect()
        start = process_time()
        action()
        times.append(process_time() - start)
    return min(times)


def main() -> int:
    """Print the table."""
    nested, flat = logit(), logit(flat=True)
    va.variance(nested["t", "s"])  # imports SymPy
    W, x = va.iid("W", (h, d), variance="w"), va.iid("x", d, variance="s")
    q = va.einsum("ai,i->a", W, x)
    rows = {
        "variance of a logit with positions": lambda: va.variance(nested["t", "s"]),
        "its fourth moment, general kurtosis": lambda: va.moment(nested["t", "s"], 4),
        "the same as one flat contraction": lambda: va.moment(flat["t", "s"], 4),
        "sixth moment of a projection": lambda: va.moment(q["a"], 6),
        "sixth moment, all pairings listed": lambda: listed_moment(6),
        "eighth moment of a projection": lambda: va.moment(q["a"], 8),
        "eighth moment, all pairings listed": lambda: listed_moment(8),
    }
    times = {name: seconds(action) for name, action in rows.items()}
    for name, time in times.items():
        print(f"{name:<40}{1e3 * time:>10.2f} ms")
    variance, fourth, one, six, six_listed, eight, eight_listed = times.values()
    print(f"{'flat / nested':<40}{one / fourth:>10.1f}")
    print(f"{'listed / engine, sixth moment':<40}{six_listed / six:>10.1f}")
    print(f"{'listed / engine, eighth moment':<40}{eight_listed / eight:>10.1f}")
    return int(variance > VARIANCE_LIMIT or fourth > FOURTH_LIMIT)


if __name__ == "__main__":
    sys.exit(main())
