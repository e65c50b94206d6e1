"""Means of a softmax row as integrals over t, with the symbols that the pages print for them.

    E[p_1^{a_1} .. p_r^{a_r}] = 1 / Gamma(a) int_0^inf m_{a_1} .. m_{a_r} phi^{n-r} dt / t

a is the sum of the powers, m_k = t^k E[e^{k l} exp(-t e^l)] and phi = m_0.
"""

from __future__ import annotations

from math import factorial, prod
from typing import Any

import sympy

t, l = sympy.symbols("t l", real=True)
v = sympy.Symbol("v", positive=True)
phi, psi, entropy_kernel, density = sympy.symbols("phi psi g f", positive=True)
m = sympy.symbols("m_{0} m_{1} m_{2} m_{3} m_{4}", positive=True)


def over_t(body: Any) -> Any:
    """int_0^inf body dt."""
    return sympy.Integral(body, (t, 0, sympy.oo))


def power_mean(n: Any, *powers: int) -> Any:
    """The mean of a product of such powers of r different keys' weights, summed over the keys."""
    keys = len(powers)
    choices = prod((n - k for k in range(keys)), start=sympy.Integer(1))
    kernels = prod((m[power] for power in powers), start=sympy.Integer(1))
    scale = sympy.Rational(1, factorial(sum(powers) - 1))
    return choices * scale * over_t(kernels * phi ** (n - keys) / t)


def logsumexp(n: Any) -> Any:
    """The mean of the logarithm of a sum of n exponentials."""
    return over_t((sympy.exp(-t) - phi**n) / t)
