"""Exact moments of contractions of random and fixed tensors with symbolic sizes.

>>> from varprop import algebra as va
>>> h, d, n = va.dims("h d n")
>>> W = va.iid("W", (h, d), variance="w")
>>> x = va.iid("x", (n, d), variance="s")
>>> va.variance(va.einsum("ai,ti->ta", W, x)["t", "a"])
d*s*w
"""

from .moments import covariance, cumulant, mean, moment, variance
from .tensors import dims, einsum, fixed, iid, joint, ones

__all__ = ["covariance", "cumulant", "dims", "einsum", "fixed", "iid", "joint", "mean", "moment", "ones", "variance"]
