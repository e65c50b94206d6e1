"""Mean, variance, covariance and raw moments of tensor entries, exact at every finite size.

>>> from varprop import algebra as va
>>> h, d = va.dims("h d")
>>> W, x = va.iid("W", (h, d), variance="w"), va.iid("x", d, variance="s", excess_kurtosis="g")
>>> q = va.einsum("ai,i->a", W, x)
>>> va.variance(q["a"]), va.covariance(q["a"], q["b"])
(d*s*w, 0)
>>> va.moment(q["a"], 4)
3*d**2*s**2*w**2 + 3*d*g*s**2*w**2 + 6*d*s**2*w**2
>>> va.mean(q["a"], q["a"], q["b"], q["b"])
d**2*s**2*w**2 + d*g*s**2*w**2 + 2*d*s**2*w**2
>>> va.variance(va.einsum("ai,ai->", W, W))
2*d*h*w**2
"""

from __future__ import annotations

from math import comb
from numbers import Integral
from typing import Any

from .contractions import Contractions
from .entries import Entry, letter_sizes
from .expectation import expectation
from .polynomials import scalar
from .symbolic import as_sympy
from .tensors import Tensor, merged_leaves
from .text import shown

Numbered = tuple[Tensor, tuple[int, ...]]


def mean(entry: Entry | Tensor, *others: Entry | Tensor) -> Any:
    """The expected value of an entry, or of the product of several.

    ``mean(x)`` is E[x], ``mean(x, y)`` is E[x y].  A tensor without index is passed as it is.

    Returns: a SymPy expression, polynomial in the cumulants, the scalars, the sizes and sums over
    the fixed tensors' entries.

    Raises:
        TypeError: if an argument is no entry.
        ValueError: if a cumulant is needed that was not given, or a letter stands for two sizes.
    """
    numbered, letters = numbered_entries(entry, *others)
    return as_sympy(expectation(numbered), letters)


def moment(entry: Entry | Tensor, order: int) -> Any:
    """The raw moment E[x^order]; see :func:`mean`."""
    return mean(*[entry] * _checked_order(order))


def variance(entry: Entry | Tensor) -> Any:
    """E[x^2] - E[x]^2, equal terms cancelled before it is written; see :func:`mean`."""
    return cumulant(entry, 2)


def covariance(left: Entry | Tensor, right: Entry | Tensor) -> Any:
    """E[x y] - E[x] E[y]; see :func:`mean`."""
    numbered, letters = numbered_entries(left, right)
    result = Contractions()
    result.accumulate(expectation(numbered))
    result.accumulate(expectation(numbered[:1]) * expectation(numbered[1:]), scalar(-1))
    return as_sympy(result, letters)


def cumulant(entry: Entry | Tensor, order: int) -> Any:
    """The cumulant: 1 is the mean, 2 the variance, 4 the excess kurtosis times variance²."""
    numbered, letters = numbered_entries(entry)
    return as_sympy(place_cumulants(numbered[0], _checked_order(order))[-1], letters)


def place_cumulants(entry: Numbered, order: int) -> list[Contractions]:
    """Cumulants 1 ... order, from k_n = m_n - sum_j C(n-1, j-1) k_j m_(n-j).

    Raises:
        ValueError: if the last one needs a cumulant that was not given.
    """
    moments = [expectation([entry] * power) for power in range(order + 1)]
    cumulants: list[Contractions] = []
    for n in range(1, order + 1):
        result = Contractions()
        result.accumulate(moments[n])
        for j in range(1, n):
            result.accumulate(cumulants[j - 1] * moments[n - j], scalar(-comb(n - 1, j - 1)))
        cumulants.append(result)
    cumulants[-1].known()
    return cumulants


def numbered_entries(*entries: Entry | Tensor) -> tuple[list[Numbered], dict[int, str]]:
    """Give each letter a negative number; letters mean the same value in all entries.

    Raises:
        TypeError: if something is no entry.
        ValueError: if a tensor has indices that no letter names, a letter stands for two sizes, or
            two different tensors have one name.
    """
    checked = [as_entry(entry) for entry in entries]
    letters = letter_sizes(checked)
    numbers = {letter: -place for place, letter in enumerate(letters, start=1)}
    merged_leaves(entry.tensor for entry in checked)
    numbered = [(entry.tensor, tuple(map(numbers.__getitem__, entry.letters))) for entry in checked]
    return numbered, {number: letter for letter, number in numbers.items()}


def as_entry(entry: Any) -> Entry:
    """Return an entry as it is, and a tensor without index as its only entry."""
    if isinstance(entry, Tensor):
        return Entry(entry, ())
    if not isinstance(entry, Entry):
        raise TypeError(
            f"got {shown(entry)} ({type(entry).__name__}); accepted: an entry such as q['t', 'a']"
        )
    return entry


def _checked_order(order: Any) -> int:
    if not isinstance(order, Integral) or isinstance(order, bool) or order < 1:
        raise ValueError(f"order: got {shown(order)}; accepted: 1, 2, 3, ...")
    return int(order)
