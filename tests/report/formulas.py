"""Reading LaTeX back: a formula of a page as a SymPy expression, and its value at a point.

Every symbol is renamed before parsing, so that the parser sees only x_{1}, x_{2}, ... and
operators: it would take d for a differential, and a symbol before a bracket for a function.
An integral over t is read apart from the rest: its integrand is a formula whose symbols are arrays
over nodes in t, and the point has the weights of the nodes, w_t.
"""

import math
import re
from functools import lru_cache
from typing import Any

import numpy as np
import sympy
from scipy.special import gamma
from sympy.parsing.latex import parse_latex

SPECIAL = {
    r"\lVert x_{t} \rVert": "norm_t",
    r"\lVert x_{s} \rVert": "norm_s",
    r"\left(x_{t} \cdot x_{s}\right)": "inner",
    r"\bar{p}": "p_bar",
    r"\lambda": "lam",
}
GREEK = (
    *("beta", "eta", "gamma", "kappa", "mu", "nu", "omega", "phi", "pi", "psi", "rho"),
    *("sigma", "tau", "theta", "varepsilon"),
)
CONSTANTS = {"e": math.e, "pi": math.pi, "gamma": np.euler_gamma}
STRUCTURE = re.compile(r"\\(?:frac|sqrt|sin|cos|left|right|cdot|log|Gamma)(?![A-Za-z])")
TOKEN = re.compile(
    "|".join(
        [
            *(re.escape(latex) for latex in SPECIAL),
            STRUCTURE.pattern,
            rf"(?:\\(?:{'|'.join(GREEK)})(?![A-Za-z])|[A-Za-z])(?:_\{{\w+\}})?",
            r"\\.",
        ]
    )
)
PRODUCT = re.compile(r"(x_\{\d+\})\s*(?=\\left\(|\()")
INTEGRAL = re.compile(r"((?:\\int\\limits_\{[^{}]*\}\^\{[^{}]*\} ?)+)(.*?)((?: d[a-z](?![a-z_]))+)")
Values = dict[str, Any]


@lru_cache(maxsize=1024)
def parse(latex: str) -> tuple[sympy.Expr, dict[str, str]]:
    """Return the expression and the name of each of its symbols.

    Raises:
        ValueError: for a command that no page should hold.
    """
    names: dict[str, str] = {}

    def rename(match: re.Match[str]) -> str:
        token = match[0]
        if STRUCTURE.fullmatch(token):
            return token
        if token.startswith("\\") and len(token) == 2:
            raise ValueError(f"what is {latex[match.start() :][:20]!r}?")
        name = SPECIAL.get(token) or re.sub(r"[\\{}]", "", token)
        symbol = next((known for known, value in names.items() if value == name), None)
        symbol = symbol or f"x_{{{len(names) + 1}}}"
        names[symbol] = name
        return f" {symbol} "

    plain = PRODUCT.sub(r"\1 \\cdot ", TOKEN.sub(rename, latex))
    if plain.lstrip().startswith(r"\left"):  # which the parser does not take at the beginning
        plain = rf"1 \cdot {plain}"
    return parse_latex(plain, backend="antlr", strict=True), names


def evaluate(latex: str, values: Values) -> tuple[float, float]:
    """Return the value of a formula, and its size: the value if nothing had cancelled."""
    sizes: dict[str, float] = {}
    known = CONSTANTS | values

    def integrate(match: re.Match[str]) -> str:
        limits, body, variables = match.groups()
        assert limits.count("int") == len(variables.split()), match[0]
        weights = math.prod(known[f"w_{variable[1:]}"] for variable in variables.split())
        value, size = evaluate(body, known)
        name = f"I_{{{len(sizes) + 1}}}"
        known[plain(name)] = float(np.sum(weights * value))
        sizes[plain(name)] = float(np.sum(weights * size))
        return f"{name} "

    expression, names = parse(INTEGRAL.sub(integrate, latex))
    with np.errstate(all="ignore"):
        return _evaluate(
            expression,
            {
                symbol: (as_float(known[name]), sizes.get(name, abs(as_float(known[name]))))
                for symbol, name in names.items()
            },
        )


def plain(name: str) -> str:
    return re.sub(r"[{}]", "", name)


def as_float(value: Any) -> Any:
    return np.asarray(value, dtype=float) if np.ndim(value) else float(value)


def _evaluate(expression: sympy.Expr, values: Values) -> tuple[Any, Any]:
    if expression.is_Number or expression is sympy.E:
        return float(expression), abs(float(expression))
    if expression.is_Symbol:
        return values[expression.name]
    parts = [_evaluate(part, values) for part in expression.args]
    numbers, sizes = zip(*parts, strict=True)
    if expression.is_Add:
        return total(numbers), total(sizes)
    if expression.is_Mul:
        return math.prod(numbers), math.prod(sizes)
    if expression.is_Pow:
        base, power = numbers
        if np.all(np.asarray(power) >= 0):
            return base**power, sizes[0] ** power
        grown = np.abs(base) ** power * (sizes[0] / np.abs(base)) ** -power
        return base**power, np.where(np.asarray(power) >= 0, sizes[0] ** power, grown)
    if str(expression.func) == "Gamma":
        return gamma(numbers[0]), abs(gamma(numbers[0]))
    if expression.func is sympy.log:
        return np.log(numbers[0]), 1 + abs(np.log(numbers[0]))
    assert expression.func in (sympy.sin, sympy.cos), expression
    return float(expression.func(numbers[0])), max(1.0, sizes[0])


def total(numbers: tuple[Any, ...]) -> Any:
    return sum(numbers) if any(np.ndim(one) for one in numbers) else math.fsum(numbers)
