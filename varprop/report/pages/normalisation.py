"""The page on normalisation with eps."""

from __future__ import annotations

from typing import Any

import sympy

from varprop.report.laplace import over_t, t
from varprop.report.notation import d, sigma
from varprop.report.page import Page
from varprop.report.pages import normalisation_numbers, normalisation_rows
from varprop.report.pages.normalisation_rows import height, m, taylor

D, C, M = sympy.symbols("D C M", positive=True)
nu = sympy.Symbol("nu", real=True)


def build() -> Page:
    """Derive and write the page."""
    page = Page("Normalisation with eps")
    page.section("Setting")
    page.text(r"""
        A norm divides a row $x$ of $d$ entries by its own size,
        $y := x / \sqrt{v + \varepsilon}$: RMSNorm takes $v := \lVert x \rVert^{2} / d$,
        LayerNorm first takes the row's mean off and then the same $v$ of the rest, the biased
        variance. So $\lVert y \rVert^{2}$ is $d r$ with $r := v / (v + \varepsilon)$, which is
        just short of $d$ where $\varepsilon$ is small beside $v$; $r$ is no polynomial of the
        draws. At first entries are independent and normal with variance $\sigma^{2}$ around
        fixed numbers $f_{i}$ (sinusoidal positions, say; 0 without). Then
        $X := d v / \sigma^{2}$ is a chi-square variable with $D$ degrees, $d$ for RMSNorm and
        $d - 1$ for LayerNorm, and noncentrality $\nu := \lVert f \rVert^{2} / \sigma^{2}$ (of
        $f$ less its mean for LayerNorm), and $r$ is $X / (X + C)$ with
        $C := d \varepsilon / \sigma^{2}$. No large $d$ is assumed.""")
    _powers(page)
    _along(page)
    normalisation_rows.directions(page)
    normalisation_rows.other_tables(page)
    normalisation_numbers.rules(page)
    _limits(page)
    _exceptions(page)
    return page


def transform() -> Any:
    """E e^{-tX}."""
    return (1 + 2 * t) ** (-D / 2) * sympy.exp(-nu * t / (1 + 2 * t))


def laplace_moment(order: int) -> Any:
    """E[X^order e^{-tX}] as a multiple of M = E e^{-tX}, by derivatives of log M."""
    logarithm = sympy.expand_log(sympy.log(transform()), force=True)
    mean = sympy.factor(-sympy.diff(logarithm, t))
    variance = sympy.factor(sympy.diff(logarithm, t, 2))
    return M * (mean if order == 1 else mean**2 + variance)


def _powers(page: Page) -> None:
    page.section("Powers of a ratio")
    page.text(r"""
        Completing the square in each coordinate, and multiplying, gives the Laplace transform
        of a chi-square:""")
    page.equation("norm.laplace", r"\mathbb{E} e^{-tX}", transform())
    page.text(r"""
        Call it $M$. Under the weights $e^{-tX} / M$ the mean and the variance of $X$ are the
        first two derivatives of $\log M$, up to signs, and
        $\int_{0}^{\infty} t^{k-1} e^{-t(X + C)} dt$ is $\Gamma(k) (X + C)^{-k}$. All
        integrands are positive, so means and integrals change places, and every power of $r$
        has a mean that is one integral:""")
    for name, order in (("norm.mean", 1), ("norm.square", 2)):
        left = r"\mathbb{E} r" if order == 1 else rf"\mathbb{{E}} r^{{{order}}}"
        body = t ** (order - 1) * sympy.exp(-C * t) * laplace_moment(order)
        page.equation(name, left, over_t(body))
    page.text(r"""
        The plug-in, $m / (m + \varepsilon)$ with $m := \mathbb{E} v$, is more than the mean of
        $r$, which is concave in $v$ (Jensen). And a mean of a product is not a product of
        means: where one row occurs twice, in a position's score with itself, in a fourth
        moment, or at two positions that hold the same token, it is $\mathbb{E} r^{2}$ and not
        the square of $\mathbb{E} r$. Different rows without a common part are independent, and
        there the product of means is right.""")


def _along(page: Page) -> None:
    page.section("The fixed part of a normed row")
    page.text(r"""
        By symmetry around $f$ the mean of $y$ points along $f$; how much of it is left is an
        integral of the same kind. The root in the denominator is
        $\int_{0}^{\infty} t^{-1/2} e^{-t(X + C)} dt$ up to $\Gamma(1/2)$, and the square is
        completed around $f / (1 + 2t)$:""")
    body = sympy.exp(-C * t) * M / (sympy.sqrt(t) * (1 + 2 * t))
    scale = sympy.sqrt(d) / (sigma * sympy.sqrt(sympy.pi))
    page.equation("norm.along", r"\frac{\mathbb{E} y_{i}}{f_{i}}", scale * over_t(body))
    page.text(r"""
        (for LayerNorm, $f$ less its mean). What two positions with different tokens have in
        common is this share of each: $\mathbb{E}[y_{t} \cdot y_{s}]$ is the product of the two
        shares times $f_{t} \cdot f_{s}$. It is not $f_{t} \cdot f_{s}$ over the mean sizes, for
        the size of a row is largest where the draw happens to point along $f$.""")


def _limits(page: Page) -> None:
    page.section("Limits")
    page.text(r"""
        For $\varepsilon \to 0$ every row has $r$ equal to 1 and the sphere is left: the mean
        square of a normed row is exactly 1 whatever went in, and so are all moments that see
        only $\lVert y \rVert^{2}$. For large $\varepsilon$ the norm divides by a constant. For
        $d \to \infty$ the fluctuation of $v$ vanishes and the plug-in becomes right:""")
    wide = sympy.together(taylor().subs({height: 0, m: sigma**2}))
    page.equation("norm.wide", r"\lim_{d \to \infty} \mathbb{E} r", wide)
    page.text(r"""
        without a fixed part, the table normal.""")


def _exceptions(page: Page) -> None:
    page.section("Where it stops holding")
    page.text(r"""
        **A row that is nearly constant.** LayerNorm sees what is left of it; for a table of
        zeros with `eps` 0 it divides 0 by 0, and with `eps` it gives 0. **Two entries.** After
        LayerNorm a row of width 2 is $\pm (1, -1)$ times one number: the kurtosis formula then
        gives $-2$, two points, and no width is too small for it. **A mean of the table** is a
        part $f$ that all entries share: LayerNorm removes it and RMSNorm does not. **Dropout**
        before the norm makes the number of entries that count random, a mixture over $D$.
        **A shared part that is drawn**, such as a segment row, makes rows of one sequence
        dependent through it, and the product of means wrong for different rows too.
        **Float16** cannot hold `eps` 1e-8 and below: there it is 0, see
        [half precision](half_precision.md).""")
