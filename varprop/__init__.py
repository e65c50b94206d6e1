"""Exact variances at the front of a Transformer: derived, simulated, written down.

>>> import varprop
>>> varprop.predict(d_model=512)["input"].second_moment
1.5
"""

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
from varprop.predict import Prediction, predict
from varprop.spec import TransformerSpec

__all__ = [
    "LayerNorm",
    "Learned",
    "Prediction",
    "RMSNorm",
    "Rotary",
    "Sinusoidal",
    "TransformerSpec",
    "constant",
    "kaiming_normal",
    "kaiming_uniform",
    "lecun_normal",
    "normal",
    "predict",
    "truncated_normal",
    "uniform",
    "xavier_normal",
    "xavier_uniform",
    "zeros",
]
