"""Tensors: random or fixed leaves, and linear combinations and contractions of them."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping
from typing import Any, NoReturn

from .entries import Entry
from .laws import Law
from .polynomials import ONE, Polynomial, reciprocal, scalar
from .registry import NUMBERS, Interned
from .text import shortened, shown

_POLYNOMIAL_ONLY = "only sums, products and contractions of tensors have exact moments here"
_REFLECTED = {"add": "radd", "subtract": "rsub", "multiply": "rmul", "divide": "rtruediv"}


class Tensor(metaclass=Interned):
    """A tensor with named sizes; add, scale, multiply elementwise, contract with ``einsum``.

    >>> from varprop import algebra as va
    >>> n, d = va.dims("n d")
    >>> E, P = va.iid("E", (n, d), variance="s"), va.fixed("P", (n, d))
    >>> va.variance((2 * E + P)["t", "i"])
    4*s
    """

    def __init__(
        self, key: Hashable, shape: tuple[Any, ...], leaves: Mapping[str, Leaf], height: int
    ) -> None:
        """Number a tensor.

        Args:
            key: equal for structurally equal tensors.
            shape: sizes: names, positive integers or SymPy expressions.
            leaves: the named tensors that it is made of, by name.
            height: 0 for a leaf, else one more than the highest operand's.
        """
        self.key, self.shape, self.leaves, self.height = key, shape, leaves, height
        self.number = next(NUMBERS)
        self.laws = frozenset(leaf.law.key for leaf in leaves.values() if leaf.law is not None)

    def __getitem__(self, letters: Any) -> Entry:
        """One entry; different letters name different index values."""
        return Entry(self, letters if isinstance(letters, tuple) else (letters,))

    def __iter__(self) -> NoReturn:
        raise TypeError(f"{self!r}: a tensor cannot be iterated; index it with letters")

    def __copy__(self) -> Tensor:
        return self

    def __deepcopy__(self, _: Any) -> Tensor:
        return self

    def __add__(self, other: Any) -> Tensor:
        if isinstance(other, Tensor):
            return Sum(self.shape, ((ONE, self), (ONE, other)))
        return Sum(self.shape, ((ONE, self), (scalar(other), Ones(self.shape))))

    __radd__ = __add__

    def __neg__(self) -> Tensor:
        return Sum(self.shape, ((-ONE, self),))

    def __sub__(self, other: Any) -> Tensor:
        return self + (-other if isinstance(other, Tensor) else -scalar(other))

    def __rsub__(self, other: Any) -> Tensor:
        return (-self).__add__(other)

    def __mul__(self, other: Any) -> Tensor:
        return _product(self, other) if isinstance(other, Tensor) else self._times(scalar(other))

    __rmul__ = __mul__

    def __truediv__(self, other: Any) -> Tensor:
        if isinstance(other, Tensor):
            self._refuse()
        return self._times(reciprocal(scalar(other)))

    def __pow__(self, power: Any) -> Tensor:
        whole = hasattr(power, "__index__") and not isinstance(power, bool)
        if not whole or power.__index__() < 1:
            raise TypeError(
                f"{self!r} to the power {shown(power)}: {_POLYNOMIAL_ONLY}; accepted: 1, 2, 3, ..."
            )
        return _product(*[self] * power.__index__())

    def _times(self, coefficient: Polynomial) -> Tensor:
        return Sum(self.shape, ((coefficient, self),))

    def _refuse(self, *_: Any) -> NoReturn:
        raise TypeError(
            f"{self!r}: a function of a tensor that is no polynomial: {_POLYNOMIAL_ONLY}"
        )

    def _sympy_(self) -> NoReturn:
        from sympy import SympifyError

        raise SympifyError(f"{self!r}: {_POLYNOMIAL_ONLY}")

    def __array_ufunc__(self, function: Any, method: str, *inputs: Any, **_: Any) -> Tensor:
        """NumPy's scalars may stand on the left of a tensor; NumPy's functions are refused."""
        reflected = _REFLECTED.get(function.__name__)
        if method != "__call__" or reflected is None or not isinstance(inputs[-1], Tensor):
            raise TypeError(f"numpy.{function.__name__} of {self!r}: {_POLYNOMIAL_ONLY}")
        result: Tensor = getattr(inputs[-1], f"__{reflected}__")(inputs[0])
        return result

    __abs__ = __float__ = __complex__ = __int__ = __bool__ = __array__ = __round__ = _refuse
    __rtruediv__ = __rpow__ = __mod__ = __rmod__ = __floordiv__ = __rfloordiv__ = _refuse
    __lt__ = __le__ = __gt__ = __ge__ = _refuse

    def _described(self, what: str) -> str:
        return f"{shortened(what)}[{shortened(', '.join(map(str, self.shape)))}]"


class Leaf(Tensor):
    """A named tensor: random when it has a law, else fixed."""

    def __init__(
        self,
        name: str,
        shape: tuple[Any, ...],
        law: Law | None,
        orders: Mapping[int, Polynomial] | None = None,
        sampler: Any = None,
    ) -> None:
        """Name a tensor.

        Args:
            name: an identifier.
            shape: its sizes.
            law: the law of its entries; None for a fixed tensor.
            orders: its cumulants by order, where its entries are independent of other tensors.
            sampler: draws it in a simulation: ``sampler(rng, shape)`` returns an array.
        """
        self.name, self.law, self.orders, self.sampler = name, law, orders, sampler
        key = ("leaf", name, shape, law and law.key, sampler and id(sampler))
        super().__init__(key, shape, {name: self}, 0)

    def __repr__(self) -> str:
        return self._described(self.name)


class Ones(Tensor):
    """All entries 1: spreads a tensor over an index it does not have."""

    def __init__(self, shape: tuple[Any, ...]) -> None:
        """Fill a shape."""
        super().__init__(("ones", shape), shape, {}, 0)

    def __repr__(self) -> str:
        return self._described("ones")


class Sum(Tensor):
    """A linear combination of tensors of one shape, like terms collected; zero without terms."""

    def __init__(self, shape: tuple[Any, ...], terms: Iterable[tuple[Polynomial, Tensor]]) -> None:
        """Collect (coefficient, tensor) pairs; a multiple of a tensor joins as that tensor.

        Raises:
            ValueError: if a tensor has another shape.
        """
        collected: dict[Tensor, Polynomial] = {}
        for coefficient, tensor in terms:
            if tensor.shape != shape:
                sizes = shortened(", ".join(map(str, shape)))
                raise ValueError(
                    f"sum: {tensor!r} beside a tensor of shape ({sizes}); accepted: equal shapes"
                )
            if isinstance(tensor, Sum) and len(tensor.terms) <= 1:
                parts = [(coefficient * inner, part) for inner, part in tensor.terms]
            else:
                parts = [(coefficient, tensor)]
            for total, part in parts:
                collected.setdefault(part, Polynomial()).accumulate(total)
        self.terms: tuple[tuple[Polynomial, Tensor], ...] = tuple(
            (total, part) for part, total in collected.items() if total
        )
        numbered = sorted((part.number, frozenset(total.items())) for total, part in self.terms)
        tensors = [part for _, part in self.terms]
        height = 1 + max((part.height for part in tensors), default=0)
        super().__init__(("sum", shape, tuple(numbered)), shape, merged_leaves(tensors), height)

    def __repr__(self) -> str:
        return self._described("sum")


class Contraction(Tensor):
    """A product of tensors summed over the letters that the output does not show."""

    def __init__(self, inputs: tuple[str, ...], output: str, tensors: tuple[Tensor, ...]) -> None:
        """Contract tensors as ``einsum`` says.

        Raises:
            ValueError: if an index is used with two sizes.
        """
        self.inputs, self.output, self.tensors = inputs, output, tensors
        sizes: dict[str, Any] = {}
        for letters, tensor in zip(inputs, tensors, strict=True):
            for letter, size in zip(letters, tensor.shape, strict=True):
                if sizes.setdefault(letter, size) != size:
                    raise ValueError(
                        f"{self._subscripts()}: index {letter!r} is used with two sizes, "
                        f"{shown(sizes[letter])} and {shown(size)}"
                    )
        key = ("einsum", inputs, output, tuple(tensor.number for tensor in tensors))
        shape = tuple(sizes[letter] for letter in output)
        height = 1 + max(tensor.height for tensor in tensors)
        super().__init__(key, shape, merged_leaves(tensors), height)

    def _subscripts(self) -> str:
        return f"einsum {shortened(','.join(self.inputs) + '->' + self.output)}"

    def __repr__(self) -> str:
        return self._described(self._subscripts())


def merged_leaves(tensors: Iterable[Tensor]) -> dict[str, Leaf]:
    """The named tensors that all these are made of.

    Raises:
        ValueError: if two different ones have one name.
    """
    leaves: dict[str, Leaf] = {}
    for tensor in tensors:
        for name, leaf in tensor.leaves.items():
            if leaves.setdefault(name, leaf) is not leaf:
                raise ValueError(
                    f"{name}: two different tensors have this name in one expression, "
                    f"{leaves[name]!r} and {leaf!r}; accepted: a name for each"
                )
    return leaves


def _product(*factors: Tensor) -> Tensor:
    """The elementwise product of tensors of one shape, and of tensors without index."""
    shape = max((factor.shape for factor in factors), key=len)
    letters = "".join(chr(ord("a") + axis) for axis in range(len(shape)))
    for factor in factors:
        if factor.shape not in (shape, ()):
            raise ValueError(
                f"product: {factor!r} beside {factors[0]!r}; accepted: equal shapes, or einsum"
            )
    return Contraction(tuple(letters[: len(factor.shape)] for factor in factors), letters, factors)
