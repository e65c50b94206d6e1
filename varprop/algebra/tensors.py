"""Tensors: random (iid entries given by their cumulants), fixed, and sums and contractions of them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NoReturn

from .polynomials import ONE, Polynomial, scalar

_NODES: list[Tensor] = []
_INTERNED: dict[Any, int] = {}
_POLYNOMIAL_ONLY = "only sums, products and contractions of tensors have exact moments here"


class Law:
    """The joint distribution of the entries that stand at one index of a family of iid tensors.

    Entries at different indices are independent; entries of the family's members at the same index have
    the joint cumulants that ``cumulant(members)`` returns.
    """

    def __init__(self, key: Any, cumulant: Callable[[tuple[str, ...]], Any], highest: int | None) -> None:
        self.key, self._cumulant, self.highest = key, cumulant, highest
        self._known: dict[tuple[str, ...], Polynomial | None] = {}

    def cumulant(self, members: tuple[str, ...]) -> Polynomial | None:
        """The joint cumulant as a polynomial, or None where it was not given."""
        if members not in self._known:
            value = self._cumulant(members)
            self._known[members] = None if value is None else scalar(value)
        return self._known[members]


class Tensor:
    """A tensor with named sizes; add, subtract, scale, multiply elementwise, contract with ``einsum``."""

    __array_ufunc__ = None
    shape: tuple[Any, ...]
    law: Law | None = None

    def __init__(self, key: Any, shape: tuple[Any, ...]) -> None:
        """Register the tensor; structurally equal tensors share one number."""
        self.shape = shape
        self.number = _INTERNED.setdefault(key, len(_NODES))
        if self.number == len(_NODES):
            _NODES.append(self)
        self.laws: frozenset[Any] = frozenset()
        self.height = 0

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Tensor) and self.number == other.number

    def __hash__(self) -> int:
        return hash(self.number)

    def __getitem__(self, letters: Any) -> Entry:
        """Return one entry; each letter names an index value, different letters different values."""
        return Entry(self, letters if isinstance(letters, tuple) else (letters,))

    def __iter__(self) -> NoReturn:
        raise TypeError(f"{self!r}: a tensor of symbolic size cannot be iterated; index it with letters")

    def __add__(self, other: Any) -> Tensor:
        return Sum([(ONE, self), (ONE, _as_tensor(other, "sum"))])

    __radd__ = __add__

    def __sub__(self, other: Any) -> Tensor:
        return self + (-1) * _as_tensor(other, "difference")

    def __rsub__(self, other: Any) -> Tensor:
        return _as_tensor(other, "difference") + (-1) * self

    def __neg__(self) -> Tensor:
        return (-1) * self

    def __mul__(self, other: Any) -> Tensor:
        if isinstance(other, Tensor):
            letters = "abcdefghijklmnopqrstuvwxyz"[: len(self.shape)]
            return einsum(f"{letters},{letters}->{letters}", self, other)
        return Sum([(scalar(other), self)])

    __rmul__ = __mul__

    def __truediv__(self, other: Any) -> Tensor:
        if isinstance(other, Tensor):
            raise TypeError(f"division by the tensor {other!r}: {_POLYNOMIAL_ONLY}")
        import sympy

        return self * (1 / sympy.sympify(other))

    def __rtruediv__(self, other: Any) -> NoReturn:
        raise TypeError(f"division by the tensor {self!r}: {_POLYNOMIAL_ONLY}")

    def __pow__(self, power: Any) -> Tensor:
        if not isinstance(power, int) or isinstance(power, bool) or power < 1:
            raise TypeError(f"{self!r} to the power {power!r}: {_POLYNOMIAL_ONLY}; accepted: 1, 2, 3, ...")
        return self if power == 1 else self ** (power - 1) * self

    def _refuse(self, *_: Any) -> NoReturn:
        raise TypeError(f"a function of {self!r} that is not a polynomial: {_POLYNOMIAL_ONLY}")

    def _sympy_(self) -> NoReturn:
        from sympy import SympifyError

        raise SympifyError(f"{self!r}: {_POLYNOMIAL_ONLY}")

    __abs__ = __float__ = __complex__ = __int__ = __bool__ = __array__ = _refuse
    __rpow__ = __mod__ = __floordiv__ = __lt__ = __le__ = __gt__ = __ge__ = _refuse


class Leaf(Tensor):
    """A named tensor: random when it has a law, else fixed."""

    def __init__(
        self,
        name: str,
        shape: tuple[Any, ...],
        law: Law | None,
        sampler: Any = None,
        orders: Mapping[int, Polynomial] | None = None,
    ) -> None:
        self.name, self.law, self.sampler, self.orders = name, law, sampler, orders
        super().__init__(("leaf", name, shape, law and law.key), shape)
        self.laws = frozenset() if law is None else frozenset({law.key})

    def __repr__(self) -> str:
        return f"{self.name}[{', '.join(map(str, self.shape))}]"


class Ones(Tensor):
    """All entries 1: spreads a tensor over an index it does not have."""

    def __init__(self, shape: tuple[Any, ...]) -> None:
        super().__init__(("ones", shape), shape)

    def __repr__(self) -> str:
        return f"ones[{', '.join(map(str, self.shape))}]"


class Sum(Tensor):
    """A linear combination of tensors of one shape."""

    def __init__(self, terms: list[tuple[Polynomial, Tensor]]) -> None:
        shape = terms[0][1].shape
        for _, tensor in terms:
            if tensor.shape != shape:
                raise ValueError(f"sum: {terms[0][1]!r} and {tensor!r} have different shapes; accepted: equal ones")
        self.terms = terms
        key = tuple((frozenset(coefficient.items()), tensor.number) for coefficient, tensor in terms)
        super().__init__(("sum", key), shape)
        self.laws = frozenset().union(*(tensor.laws for _, tensor in terms))
        self.height = 1 + max(tensor.height for _, tensor in terms)

    def __repr__(self) -> str:
        return f"sum({', '.join(repr(tensor) for _, tensor in self.terms)})"


class Contraction(Tensor):
    """A product of tensors summed over the letters that the output does not show."""

    def __init__(self, inputs: tuple[str, ...], output: str, tensors: tuple[Tensor, ...]) -> None:
        sizes: dict[str, Any] = {}
        for letters, tensor in zip(inputs, tensors, strict=True):
            for letter, size in zip(letters, tensor.shape, strict=True):
                if sizes.setdefault(letter, size) != size:
                    raise ValueError(
                        f"einsum {','.join(inputs)}->{output}: index {letter!r} is used with two sizes, "
                        f"{sizes[letter]} and {size}"
                    )
        self.inputs, self.output, self.tensors, self.sizes = inputs, output, tensors, sizes
        super().__init__(
            ("einsum", inputs, output, tuple(tensor.number for tensor in tensors)),
            tuple(sizes[letter] for letter in output),
        )
        self.laws = frozenset().union(*(tensor.laws for tensor in tensors))
        self.height = 1 + max(tensor.height for tensor in tensors)

    def __repr__(self) -> str:
        return f"einsum({','.join(self.inputs)}->{self.output}: {', '.join(map(repr, self.tensors))})"


class Entry:
    """One entry of a tensor, ``q["t", "a"]``."""

    def __init__(self, tensor: Tensor, letters: tuple[Any, ...]) -> None:
        if len(letters) != len(tensor.shape):
            raise ValueError(f"{tensor!r}: got {len(letters)} letters; accepted: {len(tensor.shape)}, one for each index")
        for letter in letters:
            if not isinstance(letter, str) or not letter.isidentifier():
                raise TypeError(f"{tensor!r}: index {letter!r}; accepted: a letter such as 't'")
        self.tensor, self.letters = tensor, letters


def _as_tensor(value: Any, what: str) -> Tensor:
    if isinstance(value, Tensor):
        return value
    raise TypeError(f"{what}: got {type(value).__name__} beside a tensor; accepted: a tensor of the same shape")


def node(number: int) -> Tensor:
    """Return the tensor with this number."""
    return _NODES[number]


def dims(names: str) -> Any:
    """Return positive integer symbols, one for each name: ``h, d = dims("h d")``."""
    import sympy

    return sympy.symbols(names, integer=True, positive=True)


def _shape(name: str, shape: Any) -> tuple[Any, ...]:
    if not isinstance(name, str) or not name.isidentifier():
        raise ValueError(f"tensor name: got {name!r}; accepted: an identifier")
    sizes = shape if isinstance(shape, tuple) else (shape,)
    for size in sizes:
        whole = isinstance(size, int) and not isinstance(size, bool) and size >= 1
        if not (whole or isinstance(size, str) or getattr(size, "is_positive", None) and size.is_integer):
            raise ValueError(f"{name}: size {size!r}; accepted: a symbol from dims() or a positive integer")
    return sizes


def iid(
    name: str,
    shape: Any,
    *,
    mean: Any = None,
    variance: Any = None,
    third_cumulant: Any = None,
    excess_kurtosis: Any = None,
    cumulants: Mapping[int, Any] | None = None,
    sampler: Any = None,
) -> Leaf:
    """A random tensor with independent, identically distributed entries, known by their cumulants.

    Given only mean (default 0) and variance it is Gaussian.  Otherwise orders not named, up to the highest
    named, are 0 and higher ones unknown.  ``cumulants={1: .., 2: .., 3: ..}`` gives all orders at once.

    Raises:
        ValueError: if the variance is missing or both ways of giving cumulants are used.
    """
    sizes = _shape(name, shape)
    orders: dict[int, Polynomial]
    named = {"mean": mean, "variance": variance, "third_cumulant": third_cumulant, "excess_kurtosis": excess_kurtosis}
    if cumulants is not None:
        if any(value is not None for value in named.values()):
            raise ValueError(f"{name}: give cumulants= or {', '.join(named)}, not both")
        for order in cumulants:
            if not isinstance(order, int) or isinstance(order, bool) or order < 1:
                raise ValueError(f"{name}: cumulant order {order!r}; accepted: 1, 2, 3, ...")
        orders = {order: scalar(value) for order, value in cumulants.items()}
    else:
        orders = {
            order: scalar(value)
            for order, value in enumerate((mean, variance, third_cumulant), start=1)
            if value is not None
        }
        if excess_kurtosis is not None and variance is not None:
            orders[4] = scalar(excess_kurtosis) * scalar(variance) * scalar(variance)
    if 2 not in orders:
        raise ValueError(f"{name}: the variance is missing; accepted: variance= or cumulants={{2: ..}}")
    highest = max(orders)
    gaussian = highest == 2

    def cumulant(members: tuple[str, ...]) -> Any:
        if len(members) > highest and not gaussian:
            return None
        return orders.get(len(members), 0)

    key = (name, sizes, tuple(sorted((order, frozenset(value.items())) for order, value in orders.items())))
    return Leaf(name, sizes, Law(key, cumulant, 2 if gaussian else None), sampler, orders)


def joint(
    names: tuple[str, ...],
    shape: Any,
    cumulant: Callable[[tuple[str, ...]], Any],
    key: Any,
) -> tuple[Leaf, ...]:
    """Random tensors whose entries at equal indices depend on each other, at different ones do not.

    ``cumulant(members)`` returns the joint cumulant of the named members (sorted, repeated as often as they
    occur), 0, or None where it is unknown; ``key`` tells two such families apart.
    """
    law = Law(("joint", names, key), cumulant, None)
    return tuple(Leaf(name, _shape(name, shape), law) for name in names)


def fixed(name: str, shape: Any) -> Leaf:
    """A tensor without randomness, such as a table of positional encodings."""
    return Leaf(name, _shape(name, shape), None)


def ones(shape: Any) -> Ones:
    """A tensor of ones: ``einsum("t,i->ti", ones(n), b)`` repeats b at every t."""
    return Ones(_shape("ones", shape))


def einsum(subscripts: str, *tensors: Tensor) -> Contraction:
    """Multiply tensors and sum over every letter that the output does not show, as NumPy's einsum does.

    ``einsum("ai,ti->ta", W, x)`` is a projection, ``einsum("ti,ti->ti", m, x)`` a mask,
    ``einsum("ii->", W)`` a trace.  Letters may coincide.

    Raises:
        ValueError: if the subscripts do not fit the tensors or an index is used with two sizes.
    """
    if not isinstance(subscripts, str) or subscripts.count("->") != 1:
        raise ValueError(f"einsum: got {subscripts!r}; accepted: subscripts such as 'ai,ti->ta'")
    for tensor in tensors:
        if not isinstance(tensor, Tensor):
            raise TypeError(f"einsum {subscripts}: got {type(tensor).__name__}; accepted: tensors")
    left, output = subscripts.replace(" ", "").split("->")
    inputs = tuple(left.split(","))
    if len(inputs) != len(tensors):
        raise ValueError(f"einsum {subscripts}: {len(inputs)} operands named, {len(tensors)} given")
    for letters, tensor in zip(inputs, tensors, strict=True):
        if len(letters) != len(tensor.shape) or not (letters.isalpha() or not letters):
            raise ValueError(f"einsum {subscripts}: {letters!r} does not fit {tensor!r}")
    if len(set(output)) != len(output) or not set(output) <= set("".join(inputs)):
        raise ValueError(f"einsum {subscripts}: the output must show letters of the inputs, each once")
    return Contraction(inputs, output, tensors)
