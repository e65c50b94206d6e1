"""Exact variances at the front of a Transformer: derived, simulated, written down.

>>> import varprop
>>> varprop.predict(d_model=512)["input"].second_moment
1.5
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from varprop.initializers import (
    constant,
    kaiming_normal,
    kaiming_uniform,
    lecun_normal,
    normal,
    truncated_normal,
    uniform,
    xavier_normal,
    xavier_uniform,
    zeros,
)
from varprop.norms import LayerNorm, RMSNorm
from varprop.positions import Learned, Rotary, Sinusoidal
from varprop.precision import precision
from varprop.predict import Prediction, predict
from varprop.spec import TransformerSpec

if TYPE_CHECKING:
    from varprop import algebra, claims
    from varprop.agreement import Check, check
    from varprop.quadrature import expected_loss, softmax_moments
    from varprop.simulate import measure
    from varprop.simulation.estimates import Estimate
    from varprop.simulation.measurement import MeasuredMoments, Measurement

_LAZY = {
    "Check": "varprop.agreement",
    "Estimate": "varprop.simulation.estimates",
    "MeasuredMoments": "varprop.simulation.measurement",
    "Measurement": "varprop.simulation.measurement",
    "check": "varprop.agreement",
    "expected_loss": "varprop.quadrature",
    "measure": "varprop.simulate",
    "softmax_moments": "varprop.quadrature",
}
"""Names that are imported when they are first used: a prediction needs no simulator."""

_ROOMS = ("algebra", "claims", "quadrature", "strategies")
"""Packages and modules that `import varprop` makes reachable without importing them."""

__all__ = [
    "Check",
    "Estimate",
    "LayerNorm",
    "Learned",
    "MeasuredMoments",
    "Measurement",
    "Prediction",
    "RMSNorm",
    "Rotary",
    "Sinusoidal",
    "TransformerSpec",
    "algebra",
    "check",
    "claims",
    "constant",
    "expected_loss",
    "kaiming_normal",
    "kaiming_uniform",
    "lecun_normal",
    "measure",
    "normal",
    "precision",
    "predict",
    "softmax_moments",
    "truncated_normal",
    "uniform",
    "xavier_normal",
    "xavier_uniform",
    "zeros",
]


def __getattr__(name: str) -> Any:
    if name in _ROOMS:
        return import_module(f"varprop.{name}")
    if name not in _LAZY:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(import_module(_LAZY[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *_LAZY, *_ROOMS})
