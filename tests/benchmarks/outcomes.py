"""How fast norms and the stages behind the logits are: python tests/benchmarks/outcomes.py

Processor time of a fresh prediction, medians; ratios are to 10^5 exponentials in NumPy in the same
run. Limits are those of the softmax: 50 ms for the mixture of one stage.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Iterator
from functools import partial
from itertools import count
from typing import Any

import numpy as np

import varprop

PLAIN = {"position": "none", "query": "xavier_normal", "key": "xavier_normal"}
CASES: dict[str, tuple[dict[str, Any], str, str]] = {
    "logits after layernorm, no positions": (
        {"position": "none", "norm": "layernorm"},
        "logits",
        "variance",
    ),
    "logits after layernorm, sinusoids": ({"norm": "layernorm"}, "logits", "variance"),
    "  all 16384 positions": ({"norm": "layernorm", "seq_len": 2**14}, "logits", "variance"),
    "entropy, exact law": (PLAIN, "attention", "entropy"),
    "entropy, default": ({}, "attention", "entropy"),
    "entropy, causal rows": ({"causal": True}, "attention", "entropy"),
    "largest weight": (PLAIN, "attention", "max_weight"),
    "output of attention": (PLAIN, "attention_output", "variance"),
    "tied head's own logit": ({}, "output_logits", "own_token_mean"),
    "loss of a separate head": ({"output_head": "normal(std=0.02)"}, "loss", "mean"),
    "loss at the own token": ({}, "loss", "own_token"),
}
SCALES: Iterator[float] = (1 + k / 1000 for k in count())


def seconds(action: Callable[[], object]) -> float:
    """Processor time of one call."""
    start = time.process_time()
    action()
    return time.process_time() - start


def read(fields: dict[str, Any], stage: str, attribute: str) -> None:
    """Predict afresh, with a scale that no cache has seen."""
    getattr(varprop.predict(**fields, embedding_scale=next(SCALES))[stage], attribute)


def main() -> None:
    """Print each time and its ratio."""
    numbers = np.random.default_rng(0).uniform(-1, 1, 10**5)
    unit = statistics.median(seconds(lambda: np.exp(numbers)) for _ in range(99))
    print(f"10^5 exponentials: {unit * 1e3:.3f} ms; beside it")
    for name, case in CASES.items():
        read(*case)
        each = statistics.median(seconds(partial(read, *case)) for _ in range(5))
        print(f"  {name:38} {each * 1e3:8.2f} ms {each / unit:8.1f}")


if __name__ == "__main__":
    main()
