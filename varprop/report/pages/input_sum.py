"""The page on the sum of embedding, position and segment."""

from __future__ import annotations

import sympy

from varprop import algebra as va
from varprop.report.notation import (
    INPUT,
    RULE,
    TOKENS,
    d,
    eta,
    f_t,
    n,
    named,
    p_bar,
    scaling_rows,
    sigma,
    tidy,
)
from varprop.report.page import Page

HALF = sympy.Rational(1, 2)


def build() -> Page:
    """Derive and write the page."""
    page = Page("The sum of embedding and position")
    page.section("Setting")
    page.text(r"""
        The scaled embedding and the positional encoding are added:
        $x_{ti} := c E_{u(t) i} + p_{ti}$, with the table $E$ as on
        [the embedding's page](embedding.md), third cumulant 0, and fixed numbers $p_{ti}$.
        Tokens at different positions are different. Below, $f_{t} := p_{ti}$ and
        $f_{s} := p_{si}$ for one channel, $u_{t} := \lVert p_{t} \rVert^{2}$ and
        $w_{ts} := p_{t} \cdot p_{s}$ for whole rows.""")
    page.section("One entry at one place")
    page.text("""
        The table has mean 0, so the position is the mean at its place and the embedding is all
        of the variance over draws. A product of the two has a single table entry, a block of
        one, which vanishes; only the square of each is left:""")
    entry = INPUT["t", "i"]
    page.equation("sum.mean", r"\mathbb{E}[x_{ti}]", named(va.mean(entry)))
    page.equation("sum.variance", r"\mathrm{Var}[x_{ti}]", named(va.variance(entry)))
    page.equation("sum.second_moment", r"\mathbb{E}[x_{ti}^{2}]", named(va.moment(entry, 2)))
    square = va.moment(TOKENS["t", "i"], 2) + HALF
    page.text(r"""
        Averaged over channels and positions $f_{t}^{2}$ becomes $1/2$ for even $d$, and $f_{t}$
        becomes the encoding's mean $\bar{p}$
        ([the positional encoding](positional-encoding.md)). The mean square of the input is
        then $c^{2} s^{2} + 1/2$, and its pooled variance, over draws, positions and channels
        together, lies between that and the variance over draws:""")
    page.equation("sum.pooled", r"\mathrm{Var}[x]", square - p_bar**2)
    page.section("Rows")
    norm, inner = va.einsum("ti,ti->t", INPUT, INPUT), va.einsum("ti,si->ts", INPUT, INPUT)
    page.text(r"""
        What the projections will see are norms and inner products of rows. In the square of the
        norm a table entry can now pair with one of another factor while the encoding stands
        beside both, which adds $4 c^{2} s^{2} u_{t}$. (A skewed table, of third cumulant
        $\gamma$, would add $4 c^{3} \gamma \sum_{i} p_{ti}$.)""")
    page.equation("sum.norm", r"\mathbb{E} \lVert x_{t} \rVert^{2}", named(va.mean(norm["t"])))
    page.equation(
        "sum.norm_variance",
        r"\mathrm{Var} \lVert x_{t} \rVert^{2}",
        sympy.expand(named(va.variance(norm["t"]))),
    )
    page.equation("sum.inner", r"\mathbb{E}[x_{t} \cdot x_{s}]", named(va.mean(inner["t", "s"])))
    page.equation(
        "sum.inner_variance",
        r"\mathrm{Var}[x_{t} \cdot x_{s}]",
        tidy(named(va.variance(inner["t", "s"]))),
    )
    page.text(
        "Different rows share nothing but the encoding, so that is what positions have in common:"
    )
    cross = named(va.mean(entry, INPUT["s", "i"]))
    page.equation("sum.cross", r"\mathbb{E}[x_{ti} x_{si}]", cross)
    page.section("Under each rule")
    page.text("""
        The mean square of one entry, sinusoidal positions, even `d_model`; the logit scale
        plays no part:""")
    page.table("sum.scaling", RULE, scaling_rows(square))
    page.text('The embedding\'s share of it, `p["input"].shares["embedding"]`:')
    page.table("sum.share", RULE, scaling_rows(1 - HALF / square))
    page.text("""
        With a std-1 table and no factor the embedding holds two thirds, and so it does with std
        `1/sqrt(d_model)` and the factor `sqrt(d_model)`: neither side drowns. A table of std
        `1/sqrt(d_model)` without the factor is nearly all position; one of std 1 with the
        factor is nearly all token.""")
    _segment_and_dropout(page)
    page.section("Limits")
    page.text(r"""
        Without positions $f_{t}$, $u_{t}$ and $w_{ts}$ are 0 and the embedding's page is left.
        With a normal table ($\kappa$ equal to 0) each entry is normal around $p_{ti}$. For
        $d \to \infty$ at fixed $c s$ the norm and the inner product stop fluctuating:
        $\lVert x_{t} \rVert^{2}/d$ tends to $c^{2} s^{2} + 1/2$, and $x_{t} \cdot x_{s}/d$
        comes arbitrarily close to $w_{ts}/d$, which is far from 0 for near positions: rows are
        correlated through the encoding at every width.""")
    page.section("Where it stops holding")
    page.text(r"""
        **Pooled is not per place.** For the 2017 base model at `seq_len` 128 the variance over
        draws is 1, the mean square 1.5, and the pooled variance 1.38: none of them is "the"
        variance, and 1 + 1/2, which looks like a sum of two variances, is the mean square.
        **Learned positions** are drawn, row by row: their variance adds to the embedding's and
        different rows are uncorrelated. **Repeated tokens** and **a table with a mean** add to
        what positions share, see [the embedding's page](embedding.md).""")
    return page


def _segment_and_dropout(page: Page) -> None:
    page.section("Segment and dropout")
    page.text(r"""
        A segment row $S$ (entries of mean 0 and variance $\sigma^{2}$, one row for all
        positions) adds $\sigma^{2}$ to the variance over draws and to what positions share:""")
    segment = va.einsum("t,i->ti", va.ones((n,)), va.iid("S", (d,), variance=sigma**2))
    whole = INPUT + segment
    shared = named(va.mean(whole["t", "i"], whole["s", "i"]))
    page.equation("sum.segment", r"\mathbb{E}[x_{ti} x_{si}]", shared)
    page.text(r"""
        Dropout keeps an entry with probability $\eta$ (1 less the field `dropout`),
        independently of all others, and divides what it keeps by $\eta$: it multiplies by a
        mask $m$ of mean 1 and mean square $1/\eta$. That multiplies every mean square by
        $1/\eta$ and turns part of the fixed encoding into variance; what two positions share
        stays, because their masks are independent:""")
    dropped = (va.iid("m", (n, d), mean=1, variance=(1 - eta) / eta) * whole)["t", "i"]
    second = sympy.factor(named(va.moment(dropped, 2)))
    page.equation("sum.dropout", r"\mathbb{E}[(m x)_{ti}^{2}]", second)
    page.equation(
        "sum.dropout_variance",
        r"\mathrm{Var}[(m x)_{ti}]",
        second - named(va.mean(dropped)) ** 2,
        sympy.collect(sympy.expand(named(va.variance(dropped))), f_t),
    )
