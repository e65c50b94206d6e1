"""Reading LaTeX back: a formula of a page as a SymPy expression, and its value at a point.

Every symbol is renamed before parsing, so that the parser sees only x_{1}, x_{2}, ... and
operators: it would take d for a differential, and a symbol before a bracket for a function.
"""

import math
import re
from functools import lru_cache

import sympy
from sympy.parsing.latex import parse_latex

SPECIAL = {
    r"\lVert x_{t} \rVert": "norm_t",
    r"\lVert x_{s} \rVert": "norm_s",
    r"\left(x_{t} \cdot x_{s}\right)": "inner",
    r"\bar{p}": "p_bar",
    r"\lambda": "lam",
}
GREEK = ("eta", "kappa", "mu", "omega", "rho", "sigma", "tau", "theta")
STRUCTURE = re.compile(r"\\(?:frac|sqrt|sin|cos|left|right|cdot)(?![A-Za-z])")
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
    return parse_latex(plain, backend="antlr", strict=True), names


def evaluate(latex: str, values: dict[str, float]) -> tuple[float, float]:
    """Return the value of a formula, and its size: the value if nothing had cancelled."""
    expression, names = parse(latex)
    return _evaluate(expression, {symbol: float(values[name]) for symbol, name in names.items()})


def _evaluate(expression: sympy.Expr, values: dict[str, float]) -> tuple[float, float]:
    if expression.is_Number:
        return float(expression), abs(float(expression))
    if expression.is_Symbol:
        value = values[expression.name]
        return value, abs(value)
    parts = [_evaluate(part, values) for part in expression.args]
    numbers, sizes = zip(*parts, strict=True)
    if expression.is_Add:
        return math.fsum(numbers), math.fsum(sizes)
    if expression.is_Mul:
        return math.prod(numbers), math.prod(sizes)
    if expression.is_Pow:
        base, power = numbers
        if power >= 0:
            return base**power, sizes[0] ** power
        return base**power, abs(base) ** power * (sizes[0] / abs(base)) ** -power
    assert expression.func in (sympy.sin, sympy.cos), expression
    return float(expression.func(numbers[0])), max(1.0, sizes[0])
