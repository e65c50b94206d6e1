"""The page on the embedding and its factor."""

from __future__ import annotations

import sympy

from varprop import algebra as va
from varprop.report.notation import RULE, TOKENS, c, d, kappa, mu, n, rho, s, scaling_rows, tidy
from varprop.report.page import Page


def build() -> Page:
    """Derive and write the page."""
    page = Page("The embedding and its factor")
    entry, norm = TOKENS["t", "i"], va.einsum("ti,ti->t", TOKENS, TOKENS)["t"]
    variance = va.variance(entry)
    page.section("Setting")
    page.text(r"""
        The table $E$ has one row of $d$ entries (`d_model`) for each token. Its entries are
        independent and identically distributed with mean 0, variance $s^{2}$ and excess
        kurtosis $\kappa$ (0 for a normal distribution, $-6/5$ for a uniform one). A sequence
        looks up $n$ different rows, position $t$ the row of its token $u(t)$, and every row is
        multiplied by one fixed factor $c$:

        $$x_{ti} := c E_{u(t) i}$$

        Nothing else is assumed: no large $d$, no particular distribution.""")
    page.section("One entry")
    page.text(r"""
        The expectation of a product of entries is a sum over all ways to split its factors into
        blocks; a block contributes the cumulant of its order, and all factors of a block must
        be the same entry. With mean 0, blocks of one factor vanish. Two factors leave one way,
        the pair. Four factors leave three ways to form two pairs, each worth $s^{4}$, and the
        one block of four, whose cumulant is $\kappa s^{4}$:""")
    page.equation("embedding.variance", r"\mathrm{Var}[x_{ti}]", variance)
    fourth = va.moment(entry, 4)
    page.equation("embedding.fourth", r"\mathbb{E}[x_{ti}^{4}]", fourth, sympy.factor(fourth))
    page.section("The whole vector")
    page.text(r"""
        The expected squared norm adds $d$ such mean squares. It must not be confused with the
        mean square of one entry, nor with the variance *of* the squared norm. In
        $x_{ti}^{2} x_{tj}^{2}$ the pairing inside each square gives the squared mean, which the
        variance takes away again. The two pairings across the squares and the block of four
        need $i$ and $j$ to be the same channel, so one factor $d$ is left of the two:""")
    square = va.variance(norm)
    page.equation("embedding.norm", r"\mathbb{E} \lVert x_{t} \rVert^{2}", va.mean(norm))
    page.equation(
        "embedding.norm_variance",
        r"\mathrm{Var} \lVert x_{t} \rVert^{2}",
        square,
        sympy.factor(square),
    )
    page.text("""
        The inner product of two different rows has mean 0. In its square an entry can pair only
        with itself, in the same channel, so its standard deviation grows with the square root
        of the width:""")
    inner = va.einsum("ti,si->ts", TOKENS, TOKENS)["t", "s"]
    page.equation("embedding.inner", r"\mathrm{Var}[x_{t} \cdot x_{s}]", va.variance(inner))
    page.section("Under each rule")
    page.text("""
        The variance of one entry, for a table of std 1 and one of std `1/sqrt(d_model)`; the
        logit scale comes later and plays no part:""")
    page.table("embedding.scaling", RULE, scaling_rows(variance))
    page.text("""
        The factor `sqrt(d_model)` makes the variance 1 exactly when the table's std is
        `1/sqrt(d_model)`; a table of std 1 gets the variance `d_model`. The expected squared
        norm is `d_model` times the cell.""")
    page.section("Limits")
    page.text(r"""
        For a normal table $\kappa$ is 0 and the squared norm is $c^{2} s^{2}$ times a
        chi-square variable with $d$ degrees of freedom. For $d \to \infty$ the relative
        fluctuation of the squared norm vanishes, whatever the distribution, as long as $\kappa$
        is finite:""")
    page.equation(
        "embedding.fluctuation",
        r"\frac{\mathrm{Var} \lVert x_{t} \rVert^{2}}"
        r"{\left(\mathbb{E} \lVert x_{t} \rVert^{2}\right)^{2}}",
        sympy.simplify(square / va.mean(norm) ** 2),
    )
    page.section("Where it stops holding")
    _exceptions(page)
    return page


def _exceptions(page: Page) -> None:
    shifted = c * va.iid("E", (n, d), mean=mu, variance=s**2, excess_kurtosis=kappa)
    page.text(r"""
        **A mean.** If the entries have mean $\mu$, the variance stays, but the mean square does
        not, and all positions share the vector $c\mu(1, \dots, 1)$. A table drawn from
        `uniform(0, 1)` has three quarters of its mean square in that common vector.""")
    second = va.moment(shifted["t", "i"], 2)
    shared = va.mean(shifted["t", "i"], shifted["s", "i"])
    page.equation(
        "embedding.second_moment", r"\mathbb{E}[x_{ti}^{2}]", second, sympy.factor(second)
    )
    page.equation("embedding.cross", r"\mathbb{E}[x_{ti} x_{si}]", shared)
    page.text(r"""
        **Repeated tokens.** If two positions hold the same token with probability $\rho$, they
        share a row that often. The variance of one entry does not change; what the positions
        have in common does (mean 0 again):""")
    entry = TOKENS["t", "i"]
    page.equation("embedding.repeat", r"\mathbb{E}[x_{ti} x_{si}]", rho * va.moment(entry, 2))
    page.text(r"""
        **One tensor's own variance.** `x.var()` subtracts the mean of that one tensor, which
        fluctuates too, so on average it falls short by the variance of that mean. Here
        $\bar{x}$ is the mean over all $n d$ entries, at different tokens:""")
    variance, lost = va.variance(entry), va.variance(va.einsum("ti->", TOKENS)) / (n * d) ** 2
    page.equation("embedding.sample", r"\mathbb{E}[\bar{x}^{2}]", lost)
    page.equation(
        "embedding.sample_variance",
        r"\mathbb{E}\left[(x_{ti} - \bar{x})^{2}\right]",
        variance - lost,
        tidy(variance - lost),
    )
