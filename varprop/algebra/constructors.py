"""How tensors are made: sizes, random and fixed tensors, and einsum.

>>> from varprop import algebra as va
>>> h, d, n = va.dims("h d n")
>>> W = va.iid("W", (h, d), variance="w")                             # Gaussian
>>> E = va.iid("E", (n, d), variance="s", excess_kurtosis="g")        # not Gaussian unless g = 0
>>> m = va.iid("m", (n, d), cumulants={1: 1, 2: "v"})                 # Gaussian around 1
>>> P = va.fixed("P", (n, d))
>>> q = va.einsum("ai,ti->ta", W, m * E + P)
>>> va.variance(q["t", "a"])
d*s*v*w + d*s*w + w*Sum(P[t, i]**2, (i, 0, d - 1))
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping
from numbers import Integral
from typing import Any

from .laws import Law, Members, single_law
from .polynomials import CONSTANT, Polynomial, named_scalar
from .tensors import Contraction, Leaf, Ones, Tensor
from .text import shortened, shown


def dims(names: str) -> Any:
    """Return positive integer symbols, one for each name: ``h, d = dims("h d")``.

    Raises:
        ValueError: if ``names`` is not a string of identifiers.
    """
    import sympy

    split = names.replace(",", " ").split() if isinstance(names, str) else []
    if not split or not all(name.isidentifier() for name in split):
        raise ValueError(f"dims: got {shown(names)}; accepted: names such as 'h d n'")
    return sympy.symbols(names, integer=True, positive=True)


def iid(
    name: str,
    shape: Any,
    *,
    mean: Any = None,
    variance: Any = None,
    third_cumulant: Any = None,
    excess_kurtosis: Any = None,
    cumulants: Mapping[int, Any] | None = None,
    sampler: Callable[..., Any] | None = None,
) -> Leaf:
    """A random tensor with independent, identically distributed entries, known by their cumulants.

    Given only mean (default 0) and variance it is Gaussian.  Otherwise orders not named, up to the
    highest named, are 0 and higher ones unknown.  The fourth cumulant is excess_kurtosis variance².

    Args:
        name: an identifier; two different tensors of one name cannot meet.
        shape: sizes: symbols of ``dims``, names or positive integers.
        mean, variance, third_cumulant, excess_kurtosis: numbers, names or SymPy expressions.
        cumulants: ``{1: .., 2: .., 3: ..}`` gives all orders at once.
        sampler: for ``simulate``: ``sampler(rng, shape)`` returns an array of independent entries.

    Raises:
        TypeError: if a cumulant is no scalar, or the sampler no function.
        ValueError: if the name is no identifier, a size no symbol or positive integer, the variance
            missing or negative, or cumulants are given both ways.
    """
    sizes = _shape(name, shape)
    named = {
        "mean": mean,
        "variance": variance,
        "third_cumulant": third_cumulant,
        "excess_kurtosis": excess_kurtosis,
    }
    given = {
        what: named_scalar(f"{name}: {what}", value)
        for what, value in named.items()
        if value is not None
    }
    if cumulants is None:
        orders = {order: given[what] for order, what in enumerate(named, 1) if what in given}
        if 4 in orders and 2 in orders:
            orders[4] = orders[4] * orders[2] * orders[2]
    elif given:
        raise ValueError(
            f"{name}: got cumulants= and {', '.join(given)}=; accepted: one or the other"
        )
    else:
        orders = _orders(name, cumulants)
    if 2 not in orders:
        raise ValueError(
            f"{name}: the variance is missing; accepted: variance= or cumulants={{2: ..}}"
        )
    if set(orders[2]) == {CONSTANT} and orders[2][CONSTANT] < 0:
        raise ValueError(f"{name}: variance {orders[2][CONSTANT]}; accepted: at least 0")
    if sampler is not None and not callable(sampler):
        raise TypeError(f"{name}: sampler {shown(sampler)}; accepted: a function of (rng, shape)")
    key = (name, sizes, frozenset((order, frozenset(v.items())) for order, v in orders.items()))
    return Leaf(name, sizes, single_law(key, orders), orders, sampler)


def joint(
    names: tuple[str, ...],
    shape: Any,
    cumulant: Callable[[Members], Any],
    key: Hashable,
) -> tuple[Leaf, ...]:
    """Random tensors whose entries at equal indices depend on each other, at different ones do not.

    Args:
        names: an identifier for each.
        shape: the shape of each.
        cumulant: the joint cumulant of the named members (sorted, repeated as often as they occur):
            a scalar, 0, None where it is unknown, or a mapping of tuples of fixed tensors of the
            same shape to these: the sum of the scalars times the tensors' entries at the index.
        key: tells two such families apart.

    Raises:
        ValueError: if a name is no identifier, or a size no symbol or positive integer.
    """
    law = Law(("joint", names, key), cumulant)
    return tuple(Leaf(name, _shape(name, shape), law) for name in names)


def fixed(name: str, shape: Any) -> Leaf:
    """A tensor without randomness, such as a table of positional encodings.

    Raises:
        ValueError: if the name is no identifier, or a size no symbol or positive integer.
    """
    leaf = Leaf(name, _shape(name, shape), None)
    return _FIXED.setdefault(leaf.number, leaf)


_FIXED: dict[int, Leaf] = {}
"""Kept alive, because results name them: a moment is a polynomial in sums over their entries."""


def ones(shape: Any) -> Ones:
    """A tensor of ones: ``einsum("t,i->ti", ones(n), b)`` repeats b at every t."""
    return Ones(_shape("ones", shape))


def einsum(subscripts: str, *tensors: Tensor) -> Contraction:
    """Multiply tensors and sum over every letter that the output does not show, as NumPy's does.

    ``einsum("ai,ti->ta", W, x)`` is a projection, ``einsum("ti,ti->ti", m, x)`` a mask,
    ``einsum("ii->", W)`` a trace, ``einsum("a,b->ab", u, v)`` an outer product.

    Raises:
        TypeError: if an operand is no tensor.
        ValueError: if the subscripts do not fit the tensors or an index is used with two sizes.
    """
    if not isinstance(subscripts, str) or subscripts.count("->") != 1:
        raise ValueError(
            f"einsum: got {shown(subscripts)}; accepted: subscripts such as 'ai,ti->ta'"
        )
    call = f"einsum {shortened(subscripts)}"
    for tensor in tensors:
        if not isinstance(tensor, Tensor):
            raise TypeError(
                f"{call}: got {shown(tensor)} ({type(tensor).__name__}); accepted: tensors"
            )
    left, output = subscripts.replace(" ", "").split("->")
    inputs = tuple(left.split(","))
    if len(inputs) != len(tensors):
        raise ValueError(f"{call}: {len(inputs)} operands named, {len(tensors)} given")
    for letters, tensor in zip(inputs, tensors, strict=True):
        if len(letters) != len(tensor.shape) or not (letters.isalpha() or not letters):
            raise ValueError(
                f"{call}: {shown(letters)} does not fit {tensor!r}; accepted: "
                f"{len(tensor.shape)} letters"
            )
    if len(set(output)) != len(output) or not set(output) <= set("".join(inputs)):
        raise ValueError(
            f"{call}: output {shown(output)}; accepted: letters of the inputs, each once"
        )
    return Contraction(inputs, output, tensors)


def _shape(name: Any, shape: Any) -> tuple[Any, ...]:
    if not isinstance(name, str) or not name.isidentifier() or len(name) > 50:
        raise ValueError(f"tensor name: got {shown(name)}; accepted: an identifier, up to 50 long")
    sizes = shape if isinstance(shape, tuple | list) else (shape,)
    return tuple(_size(name, size) for size in sizes)


def _size(name: str, size: Any) -> Any:
    if getattr(size, "is_Integer", False) or isinstance(size, Integral):
        if not isinstance(size, bool) and size >= 1:
            return int(size)
    elif isinstance(size, str):
        if size.isidentifier():
            return size
    elif getattr(size, "is_positive", False) and size.is_integer:
        return size
    raise ValueError(
        f"{name}: size {shown(size)}; accepted: a symbol from dims() or a positive integer"
    )


def _orders(name: str, cumulants: Any) -> dict[int, Polynomial]:
    if not isinstance(cumulants, Mapping):
        raise TypeError(
            f"{name}: cumulants {shown(cumulants)}; accepted: a mapping {{2: .., 4: ..}}"
        )
    for order in cumulants:
        if not isinstance(order, Integral) or isinstance(order, bool) or order < 1:
            raise ValueError(f"{name}: cumulant order {shown(order)}; accepted: 1, 2, 3, ...")
    return {
        int(order): named_scalar(f"{name}: cumulant {order}", value)
        for order, value in cumulants.items()
    }
