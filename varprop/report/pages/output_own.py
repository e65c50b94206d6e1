"""The own token's logit in a tied head, for the page on the output head."""

from __future__ import annotations

from typing import Any

import sympy

from varprop.report.laplace import over_t, phi, t
from varprop.report.notation import d, s
from varprop.report.page import Page

V = sympy.Symbol("V", integer=True, positive=True)
b, r, A, C = sympy.symbols("b r A C", positive=True)
CHI = r"\mathbb{E} \chi_{d}"
CHI_VARIANCE = r"\mathrm{Var}[\chi_{d}]"


def own_token(page: Page) -> None:
    """Write the section."""
    page.section("The own token in a tied head")
    page.text(r"""
        A tied head has the input token's own row $e$ in it. At depth zero $y$ is the normed row
        of $x := c e + p$, where $p$ holds positions and segment; let it be independent and
        normal with variance $\tau^{2}$ and the table normal. Then $e$ is $\beta x + w$ with
        $\beta := c s^{2} / (c^{2} s^{2} + \tau^{2})$ and $w$ independent of $x$, of variance
        $s^{2} (1 - r)$, where $r := c^{2} s^{2} / (c^{2} s^{2} + \tau^{2})$ is the embedding's
        share of the input. With an RMSNorm $y$ is $\sqrt{d} x / \lVert x \rVert$, and the own
        logit $b y \cdot e$ is

        $$b \sqrt{d} \left(\beta \lVert x \rVert + \frac{w \cdot x}{\lVert x \rVert}\right)$$

        The second term is normal with the variance of $w$, whatever $x$; the first is
        $s \sqrt{r}$ times $\chi_{d}$, the root of a chi-square of $d$ degrees:""")
    mean, mean_square = (_chi_moment(order) for order in (1, 2))
    page.equation("output.chi", CHI, mean)
    page.text(r"The mean square of $\chi_{d}$ is $d$. With $C := \mathbb{E} \chi_{d}$:")
    page.equation("output.own_mean", r"\mathbb{E}[b y \cdot e]", b * s * sympy.sqrt(d * r) * C)
    square = b**2 * d * s**2 * (r * mean_square + 1 - r)
    page.equation("output.own_square", r"\mathbb{E}[(b y \cdot e)^{2}]", square)
    page.equation(
        "output.own_variance",
        r"\mathrm{Var}[b y \cdot e]",
        b**2 * d * s**2 * (r * (mean_square - C**2) + 1 - r),
    )
    page.text(r"""
        Were $y$ and $e$ independent the mean would be 0 and the mean square $v$; it is
        $r d + 1 - r$ times that. The own logit stands about $\sqrt{r d}$ standard deviations of
        the others above them, and its own std is no larger than theirs. For the table of std 1
        and `d_model` 512 it is 512 where the others have the std 22.6. (After a LayerNorm,
        which takes one direction out, read $\chi_{d-1}$ for $\chi_{d}$, and $d - 1$ for $d$ in
        $r d + 1 - r$.)

        The loss at depth zero then depends on the target. With $a$ for the own logit and
        $A := \mathbb{E} e^{-t e^{a}}$, and the others independent of it, $\log Z$ has the
        mean""")
    page.equation(
        "output.with_own",
        r"\mathbb{E} \log\left(e^{a} + \sum_{j \ge 2} e^{\ell_{j}}\right)",
        over_t((sympy.exp(-t) - A * phi ** (V - 1)) / t),
    )
    page.text(r"""
        This is the loss where another token is the target, and less $\mathbb{E} a$ the loss
        where the target is the input token itself. Where $a$ is far above $F$ the first is
        nearly $\mathbb{E} a$, hundreds for a table of std 1, and the second nearly 0: an
        untrained model that predicts its input.""")


def _chi_moment(order: int) -> Any:
    """E chi^order of d degrees, from its density."""
    x = sympy.Symbol("x", positive=True)
    weight = x ** (d - 1) * sympy.exp(-(x**2) / 2)
    over, total = (sympy.integrate(weight * x**power, (x, 0, sympy.oo)) for power in (order, 0))
    return sympy.simplify(over / total)


def limits(page: Page) -> None:
    """Write the section on limits."""
    page.section("Limits")
    page.text(r"""
        From $\Gamma(z + 1)$ being $z \Gamma(z)$, the squares $a_{d}$ of $\mathbb{E} \chi_{d}$
        satisfy $a_{d} a_{d+1}$ equal to $d^{2}$. Put $a_{d}$ as a series in $1/d$ and compare
        powers: $a_{d}$ is $d - 1/2 + 1/(8d)$ up to order $d^{-2}$, so""")
    half, next_term = chi_series()
    page.equation("output.chi_wide", rf"\lim_{{d \to \infty}} {CHI_VARIANCE}", half)
    page.equation(
        "output.chi_next",
        rf"\lim_{{d \to \infty}} d \left({CHI_VARIANCE} - \frac{{1}}{{2}}\right)",
        next_term,
    )
    page.text(r"""
        The own logit's mean is therefore $b s d \sqrt{r}$ to within one part in $4d$, and for a
        pure token row ($r$ equal to 1) its variance is half of $v$ for every large $d$. For
        $V \to \infty$ at fixed $v$ the loss is $\log V + v/2$ with an error that goes to 0; at
        $V$ equal to 1 it is 0.""")


def chi_series() -> tuple[Any, Any]:
    """The variance of chi for d to infinity, and what multiplies 1/d in it."""
    y, *unknown = sympy.symbols("y a0 a1")

    def squared_mean(over: Any) -> Any:
        return over + unknown[0] + unknown[1] / over

    product = squared_mean(1 / y) * squared_mean(1 / y + 1) - 1 / y**2
    series = sympy.series(sympy.together(product), y, 0, 1).removeO()
    known = sympy.solve([series.coeff(y, -1), series.coeff(y, 0)], unknown, dict=True)[0]
    return -known[unknown[0]], -known[unknown[1]]
