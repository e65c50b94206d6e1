"""Bad input: one line under 300 characters that names argument, value and what is accepted."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable

import numpy as np
import pytest

from varprop.quadrature import (
    causal_moments,
    expected_loss,
    expected_loss_excess,
    mixture_moments,
    softmax_moments,
)

LONG = "x" * 10**6
NAN = float("nan")

SIZES = [
    (0, ValueError, "0"),
    (-3, ValueError, "-3"),
    (10**13, ValueError, "10000000000000"),
    (10**400, ValueError, "bits"),
    (True, TypeError, "True"),
    (2.0, TypeError, "2.0"),
    ("7", TypeError, "'7'"),
    (None, TypeError, "None"),
    (LONG, TypeError, "xxx"),
    ([1, 0], ValueError, "0"),
    ([1.5], TypeError, "1.5"),
    ([True], TypeError, "True"),
    ([], (TypeError, ValueError), ""),
]
VARIANCES = [
    (-1e-9, ValueError, "-1e-09"),
    (NAN, ValueError, "nan"),
    (float("inf"), ValueError, "inf"),
    (10**400, ValueError, "bits"),
    (True, TypeError, "True"),
    (np.bool_(True), TypeError, "True"),
    ("1", TypeError, "'1'"),
    (None, TypeError, "None"),
    (1j, TypeError, "1j"),
    (LONG, TypeError, "xxx"),
    ([1.0, -2.0], ValueError, "-2.0"),
    ([1.0, NAN], ValueError, "nan"),
    ([True], TypeError, "True"),
    (["a"], TypeError, "a"),
    ([[1], [1, 2]], (TypeError, ValueError), ""),
    ([], (TypeError, ValueError), ""),
]


def refused(call: Callable[[], object], kind: object, name: str, shown: str) -> None:
    with pytest.raises(kind) as caught:
        call()
    message = str(caught.value)
    assert name in message
    assert shown in message
    assert len(message) < 300
    assert "\n" not in message


@pytest.mark.parametrize(("value", "kind", "shown"), SIZES)
def test_sizes(value: object, kind: object, shown: str) -> None:
    refused(lambda: softmax_moments(value, 1.0), kind, "n must be", shown)
    refused(lambda: mixture_moments(value, [1.0], [1]), kind, "n must be", shown)
    refused(lambda: expected_loss(value, 1.0), kind, "vocab_size must be", shown)
    refused(lambda: expected_loss_excess(value, 1.0), kind, "vocab_size must be", shown)
    refused(lambda: causal_moments(value, 1.0), kind, "seq_len must be", shown)


@pytest.mark.parametrize(("value", "kind", "shown"), VARIANCES)
def test_variances(value: object, kind: object, shown: str) -> None:
    refused(lambda: softmax_moments(5, value), kind, "variance must be", shown)
    refused(lambda: expected_loss(5, value), kind, "logit_variance must be", shown)
    refused(lambda: expected_loss_excess(5, value), kind, "logit_variance must be", shown)
    either = (TypeError, ValueError)  # one number is read as a list of one
    refused(lambda: causal_moments(5, value), either, "variances must be", "")


def test_what_leaves_double_precision() -> None:
    for moments in (softmax_moments(5, 1e308), softmax_moments([5, 6], [1.0, 1e308])):
        refused(lambda: moments.mean_logit_square, ValueError, "mean_logit_square", "1e306")  # noqa: B023


def test_shapes() -> None:
    refused(lambda: softmax_moments([1, 2], [1, 2, 3]), ValueError, "n and variance", "(3,)")
    refused(lambda: expected_loss([1, 2], [1, 2, 3]), ValueError, "vocab_size", "(2,)")
    refused(lambda: mixture_moments(3, [[1.0]], [[1.0]]), ValueError, "variances", "")
    refused(lambda: mixture_moments(3, 1.0, 1.0), ValueError, "variances", "1.0")
    refused(lambda: mixture_moments(3, [1.0, 2.0], [1.0]), ValueError, "weights", "(2,)")
    refused(lambda: mixture_moments(3, [1.0, 2.0], [0, 0]), ValueError, "weights", "0")
    refused(lambda: mixture_moments(3, [1.0, 2.0], [2, -1]), ValueError, "weights", "-1")
    refused(lambda: mixture_moments(3, [1.0, -2.0], [2, 1]), ValueError, "variances", "-2.0")
    refused(lambda: causal_moments([3], 1.0), TypeError, "seq_len", "[3]")


def test_importing_and_refusing_need_no_scipy() -> None:
    code = """
import sys
from varprop.quadrature import expected_loss, softmax_moments
moments = softmax_moments(5, 1.0)
try:
    expected_loss(0, 1.0)
except ValueError:
    assert "scipy" not in sys.modules
else:
    raise AssertionError
"""
    subprocess.run([sys.executable, "-c", code], check=True)
