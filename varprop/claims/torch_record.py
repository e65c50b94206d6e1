"""A real torch.nn.Embedding: measured here if torch is installed, else the committed record.

`python -m varprop.claims.torch_record` measures and replaces the record.
"""

from __future__ import annotations

import importlib
import importlib.util
import json
import math
from collections.abc import Callable
from functools import lru_cache
from pathlib import Path
from typing import Any

from varprop.claims.quantities import Quantity
from varprop.simulation.estimates import Estimate

RECORD = Path(__file__).with_name("torch_record.json")
ROWS, WIDTH, SEED, BOUND = 5000, 512, 0, 0.01


def measured_by_torch() -> dict[str, Any]:
    """Draw a default nn.Embedding(5000, 512) and summarise its entries."""
    torch: Any = importlib.import_module("torch")
    torch.manual_seed(SEED)
    entries = torch.nn.Embedding(ROWS, WIDTH).weight.detach().double()
    count = entries.numel()
    squares = (entries - entries.mean()) ** 2
    variance = float(squares.sum()) / (count - 1)
    share = float((entries.abs() <= BOUND).double().mean())
    return {
        "torch": torch.__version__,
        "rows": ROWS,
        "width": WIDTH,
        "seed": SEED,
        "variance": [variance, float(squares.std()) / math.sqrt(count)],
        "share": [share, math.sqrt(share * (1 - share) / count)],
    }


@lru_cache(maxsize=1)
def numbers() -> tuple[dict[str, Any], bool]:
    """The numbers, and whether they were measured now."""
    if importlib.util.find_spec("torch") is not None:
        return measured_by_torch(), True
    return recorded(), False


def recorded() -> dict[str, Any]:
    """The committed record."""
    record: dict[str, Any] = json.loads(RECORD.read_text(encoding="utf-8"))
    return record


def describe(record: dict[str, Any], now: bool = False) -> str:
    """Where the numbers come from."""
    how = "measured now" if now else "committed record of a measurement"
    return (
        f"torch.nn.Embedding({record['rows']}, {record['width']}), torch {record['torch']}, "
        f"seed {record['seed']}: {how}"
    )


def torch_embedding(what: str, predicted: Callable[[], float]) -> Quantity:
    """The "variance" or the "share" inside ±0.01 of a default nn.Embedding."""
    return Quantity(predicted, lambda: Estimate(*numbers()[0][what]), lambda: describe(*numbers()))


if __name__ == "__main__":
    RECORD.write_text(json.dumps(measured_by_torch(), indent=1) + "\n", encoding="utf-8")
