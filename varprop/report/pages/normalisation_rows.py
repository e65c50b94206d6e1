"""Points on a sphere, and rows that are not normal, for the page on normalisation."""

from __future__ import annotations

from typing import Any

import sympy

from varprop import algebra as va
from varprop.report.notation import d, kappa, n, sigma
from varprop.report.page import Page

eps, R, S = sympy.symbols("varepsilon R S", positive=True)
height, m = sympy.symbols("z m", real=True)
ROWS = va.iid("E", (n, d), variance=sigma**2)
ENTRY = r"\mathbb{E} y_{i}^{4}"


def directions(page: Page) -> None:
    """Write the section on directions."""
    page.section("Points on a sphere")
    page.text(r"""
        Without a fixed part the direction of a normal row is uniform and independent of its
        length, so $y$ is $\sqrt{d r}$ times a uniform point of a sphere, and $r$ is independent
        of the point. Moments of the point follow from those of the row, which the engine knows:
        the mean of a product of $2k$ entries over the mean of the power $k$ of the squared
        length. With $S := \mathbb{E} r^{2}$ for RMSNorm""")
    whole = _fourth(ROWS)
    page.equation("norm.sphere", ENTRY, S * whole)
    page.text(r"""
        and for LayerNorm, whose points lie on the sphere of one dimension less in the plane of
        entries that add to 0,""")
    centred = ROWS - va.einsum("tk,i->ti", ROWS, va.ones((d,))) / d
    page.equation("norm.plane", ENTRY, S * _fourth(centred))
    page.text(r"""
        With $R := \mathbb{E} r$, the mean square of an entry, its excess kurtosis is""")
    page.equation(
        "norm.kurtosis",
        r"\frac{\mathbb{E} y_{i}^{4}}{R^{2}} - 3",
        S * _fourth(centred) / R**2 - 3,
    )
    page.text(r"""
        after LayerNorm, a little below normal: at $\varepsilon$ equal to 0 it is
        $-6/(d + 1)$. A pair of rows with different tokens has the mean square product, for
        LayerNorm with $\varepsilon$ equal to 0,""")
    product = va.moment(va.einsum("ti,si->ts", centred, centred)["t", "s"], 2)
    length = va.mean(va.einsum("ti,ti->t", centred, centred)["t"])
    inner = sympy.factor(sympy.cancel(d**2 * product / length**2))
    page.equation("norm.inner", r"\mathbb{E}[(y_{t} \cdot y_{s})^{2}]", inner)
    page.text("where RMSNorm has $d$.")


def _fourth(rows: Any) -> Any:
    """d^2 E u_i^4 for the direction u of a row."""
    length = va.einsum("ti,ti->t", rows, rows)["t"]
    ratio = d**2 * va.moment(rows["t", "i"], 4) / va.moment(length, 2)
    return sympy.factor(sympy.cancel(sympy.expand(ratio)))


def taylor() -> Any:
    """v / (v + eps) through third order in z = (v - m) / (m + eps), and what is left."""
    series = sum((-height) ** k for k in range(4))
    return 1 - eps / (m + eps) * (series + height**4 / (1 + height))


def other_tables(page: Page) -> None:
    """Write the section on tables of any kind."""
    page.section("Other tables")
    page.text(r"""
        For entries that are not normal $v$ has no simple law, but it is a mean of $d$
        independent squares and close to its mean $m$. Let
        $z := (v - m) / (m + \varepsilon)$. The geometric series for $1/(1 + z)$, stopped
        after the third power, is exact with the remainder $z^{4} / (1 + z)$:""")
    page.equation("norm.taylor", r"\frac{v}{v + \varepsilon}", taylor())
    page.text(r"""
        $1 + z$ is $(v + \varepsilon) / (m + \varepsilon)$, which is at least
        $\varepsilon / (m + \varepsilon)$. So the last term, with the factor before it, lies
        between 0 and $z^{4}$. Taking means, the expansion in the moments of $v$ is above
        $\mathbb{E} r$ by at most

        $$\frac{\mathbb{E} (v - m)^{4}}{(m + \varepsilon)^{4}}$$

        and this is a bound, not an estimate, for every $\varepsilon$ and every table with
        eight moments. The engine knows the moments of $v$; the first, for an RMSNorm and a
        table of variance $\sigma^{2}$ and excess kurtosis $\kappa$, is""")
    table = va.iid("E", (n, d), variance=sigma**2, excess_kurtosis=kappa)
    spread = va.variance(va.einsum("ti,ti->t", table, table)["t"]) / d**2
    page.equation("norm.spread", r"\mathbb{E} z^{2}", sympy.factor(spread / (sigma**2 + eps) ** 2))
    page.text(r"""
        and the bound is of the order of its square, $1/d^{2}$. To lowest order the plug-in is
        too large by $\mathbb{E} z^{2}$ times $\varepsilon / (m + \varepsilon)$.""")
