"""Rules and limits of the page on the softmax."""

from __future__ import annotations

from typing import Any

import sympy

from varprop import algebra as va
from varprop.predict import predict
from varprop.quadrature import softmax_moments
from varprop.report.laplace import v
from varprop.report.notation import n
from varprop.report.page import Page

M = sympy.Symbol("M", positive=True)
SQUARES = r"\mathbb{E} \sum_{j} p_{j}^{2}"
JACOBIAN = r"\mathbb{E} \lVert J \rVert^{2}"
ENTROPY = r"-\mathbb{E} \sum_{j} p_{j} \log p_{j}"
RULES = (("sqrt(d_model)", "1/sqrt(d_model)"), ("1", "1/sqrt(d_model)"), ("sqrt(d_model)", "1"))
LOGIT_SCALES = ("1", "1/sqrt(d_head)", "1/d_head")


def rules(page: Page) -> None:
    """Write the section on the scaling rules."""
    page.section("Under each rule")
    page.text(r"""
        The base sizes of 2017 (`d_model` 512, `d_head` 64, 128 keys), square Xavier projections
        and no positions: the [variance of a logit](scores-and-logits.md), and what a row of
        independent logits of this variance is like. A uniform row has the entropy 4.852 and a
        squared Jacobian of 0.007751:""")
    rows = []
    for factor, std in RULES:
        for scale in LOGIT_SCALES:
            spec: dict[str, Any] = {"embedding": f"normal(std={std})", "embedding_scale": factor}
            p = predict(**spec, logit_scale=scale, position="none")
            found = softmax_moments(p.spec.seq_len, p.logits.variance)
            numbers = (p.logits.variance, found.entropy, found.effective_keys, found.max_weight)
            cells = [f"{value:.4g}" for value in (*numbers, found.jacobian_squared_norm)]
            rows.append([f"`{factor}`", f"`{std}`", f"`{scale}`", *cells])
    header = ["factor", "std", "logit scale", "variance", "entropy", "effective keys"]
    page.table("softmax.rules", [*header, "largest weight", "squared Jacobian"], rows)


def limits(page: Page) -> None:
    """Write the section on limits."""
    page.section("Limits")
    page.text(r"""
        **Narrow logits.** $\log(Z/n)$ is the cumulant generating function of the row's own
        distribution at 1: half the row's variance plus a sixth of its third cumulant, and so on.
        The engine averages these polynomials in the logits; derivatives in $v$ give the rest:""")
    narrow = log_mean_exp(6)
    page.equation("softmax.small", r"F + \mathcal{O}(v^{4})", sympy.log(n) + _powers(narrow))
    squares = 1 - 2 * sympy.diff(narrow, v)
    page.equation("softmax.small_squares", SQUARES + r" + \mathcal{O}(v^{3})", _powers(squares))
    deficit = 2 * v * sympy.diff(narrow, v) - narrow
    page.equation(
        "softmax.small_entropy",
        r"\log n + \mathbb{E} \sum_{j} p_{j} \log p_{j} + \mathcal{O}(v^{4})",
        _powers(deficit),
    )
    page.text(r"""
        **Wide logits.** At fixed $n$ and large $v$ one key has nearly all the weight, unless two
        nearly tie for the largest. Let $M$ be the mean of the largest of $n$ standard normal
        numbers. $F$ grows like $M \sqrt{v}$, so by the derivative above $1 - Q$ falls like
        $M / \sqrt{v}$. All of it comes from rows whose two largest logits are at a gap $\delta$
        of order 1, which has the density $\rho / \sqrt{v}$ with some constant $\rho$. Such a pair
        shares the weight as $p$ and $1 - p$ with $\delta := \log p - \log(1 - p)$, so
        $1 - Q$ is $\rho / \sqrt{v}$ times $\int_{0}^{\infty} 2 p (1 - p) d\delta$. That integral
        is 1, and therefore $\rho$ is $M$. Other functions of the pair, integrated over the gap
        in the same way, give""")
    for name, left, integral in _pairs():
        page.equation(name, rf"\lim_{{v \to \infty}} \sqrt{{v}} {left}", M * integral)
    page.text(r"""
        So the squared Jacobian falls only like one over the std: a saturated softmax passes
        gradients through its ties.

        **Many keys.** For $n \to \infty$ with $v$ a fixed multiple of $\log n$ this is Derrida's
        random energy model: $F / \log n$ tends to 1 plus half that multiple as long as $v$ is
        below $2 \log n$, and no single key matters. Above, $F$ is $\sqrt{2 v \log n}$ to leading
        order and $Q$ tends to $1 - \sqrt{2 \log(n) / v}$: a few keys hold everything. The proof
        is short and is on [the page of the first loss](output_head.md).""")


def log_mean_exp(order: int) -> Any:
    """The mean of log(Z / n) through this order in the logits, by the engine."""
    row = va.iid("l", (n,), variance=v)
    sums = [va.einsum(",".join("i" * k) + "->", *[row] * k) for k in range(1, order + 1)]
    means, z = sympy.symbols(f"a1:{order + 1}"), sympy.Symbol("z")
    inside = 1 + sum(a * z**k / sympy.factorial(k) for k, a in enumerate(means, start=1))
    series = sympy.expand(sympy.series(sympy.log(inside), z, 0, order + 1).removeO())
    total = sympy.Integer(0)
    for power in range(2, order + 1, 2):  # odd powers have mean 0
        for powers, coefficient in sympy.Poly(series.coeff(z, power), *means).terms():
            factors = [s for s, times in zip(sums, powers, strict=True) for _ in range(times)]
            total += coefficient * va.mean(*factors) / n ** len(factors)
    return sympy.expand(total)


def _powers(series: Any) -> Any:
    expanded = sympy.expand(series)
    return sum(sympy.factor(expanded.coeff(v, k)) * v**k for k in range(4))


def _pairs() -> list[tuple[str, str, Any]]:
    """Names, left sides and integrals over the gap for two keys of weights p and 1 - p."""
    p = sympy.Symbol("p", positive=True)
    return [
        ("softmax.wide_squares", rf"\left(1 - {SQUARES}\right)", _over_gap(2 * p * (1 - p), p)),
        (
            "softmax.wide_largest",
            r"\left(1 - \mathbb{E} \max_{j} p_{j}\right)",
            _over_gap(1 - p, p),
        ),
        ("softmax.wide_jacobian", JACOBIAN, _over_gap(4 * p**2 * (1 - p) ** 2, p)),
        ("softmax.wide_entropy", rf"\left({ENTROPY}\right)", _entropy_over_gap()),
    ]


def _over_gap(of_pair: Any, p: Any) -> Any:
    """Integrate over the gap from 0 on; its differential is dp / (p (1 - p))."""
    integrand = sympy.cancel(of_pair / (p * (1 - p)))
    return sympy.integrate(integrand, (p, sympy.Rational(1, 2), 1))


def _entropy_over_gap() -> Any:
    """The same for -p log p - (1 - p) log(1 - p), which is symmetric in p and 1 - p.

    It is the integral of -log(p) / (1 - p) from 0 to 1: with x for -log p, a geometric series of
    x e^{-k x}.
    """
    k = sympy.Symbol("k", integer=True, positive=True)
    x = sympy.Symbol("x", positive=True)
    term = sympy.integrate(x * sympy.exp(-k * x), (x, 0, sympy.oo))
    return sympy.summation(term, (k, 1, sympy.oo))
