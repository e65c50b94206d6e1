"""The page on scores and logits between different positions."""

from __future__ import annotations

import sympy

from varprop import algebra as va
from varprop.report.notation import (
    HELD,
    LOGIT_RULE,
    TOKENS,
    a,
    a_k,
    a_q,
    b_k,
    b_q,
    bias,
    d,
    even_sinusoidal,
    h,
    inner,
    lam,
    named,
    projected,
    rho,
    scaling_rows,
    scores,
    square_xavier,
    tidy,
)
from varprop.report.page import Page

VARIANCE = r"\mathrm{Var}[\ell_{ts}]"


def build() -> Page:
    """Derive and write the page."""
    page = Page("Scores and logits")
    page.section("Setting")
    page.text(r"""
        For two different positions, $\ell_{ts} := \lambda q_{t} \cdot k_{s}$ is a logit: a sum
        over the $h$ channels of a head (`d_head`) times the logit scale $\lambda$; with
        $\lambda$ left out it is a score. Queries and keys are those of
        [their page](projections.md), from weights that are drawn independently of each other,
        and the input is [the sum](sum.md) of different tokens and positions, with
        $u_{t} := \lVert p_{t} \rVert^{2}$ and $u_{s} := \lVert p_{s} \rVert^{2}$.""")
    page.section("The variance")
    page.text(r"""
        The mean is 0: a query weight appears once. In the square, the two query weights must be
        the same one, and so must the two key weights. Each pair fixes a channel, and the two
        channels must agree, which leaves one factor $h$; of the input, held fixed, it leaves
        the two norms:""")
    held = lam * scores(projected("Q", a_q, HELD), projected("K", a_k, HELD))
    page.equation(
        "scores.given", r"\mathbb{E}[\ell_{ts}^{2} \mid x]", named(va.moment(held["t", "s"], 2))
    )
    page.text("Different tokens are independent, so the two norms average apart:")
    q, k = projected("Q", a_q), projected("K", a_k)
    logit = lam * scores(q, k)
    variance = sympy.factor(named(va.variance(logit["t", "s"])))
    page.equation("scores.variance", VARIANCE, variance)
    page.text("With sinusoidal positions of even width:")
    even = sympy.factor(even_sinusoidal(variance))
    page.equation("scores.sinusoidal", VARIANCE, even)
    page.text(
        "Biases of variance $b_{q}$ and $b_{k}$ add to the variance of a query and of a key entry:"
    )
    biased = (lam * scores(q + bias("Bq", b_q), k + bias("Bk", b_k)))["t", "s"]
    page.equation("scores.biased", VARIANCE, sympy.factor(named(va.variance(biased))))
    page.section("What the softmax sees")
    page.text(r"""
        The softmax over the keys of one query ignores what a whole row shares, so what it sees
        is the variance of one logit less the covariance of two in the same row. Two keys have
        in common the inner product of their inputs, for different tokens on average that of
        their positions, $w_{sr} := p_{s} \cdot p_{r}$:""")
    covariance = sympy.factor(named(va.covariance(logit["t", "s"], logit["t", "r"])))
    page.equation("scores.covariance", r"\mathrm{Cov}[\ell_{ts}, \ell_{tr}]", covariance)
    page.equation(
        "scores.row_variance",
        VARIANCE + r" - \mathrm{Cov}[\ell_{ts}, \ell_{tr}]",
        sympy.factor(variance - covariance),
    )
    page.section("Under each rule")
    page.text("""
        The variance of a logit for square Xavier projections (weights of variance `1/d_model`)
        and sinusoidal positions of even width:""")
    page.table("scores.scaling", LOGIT_RULE, scaling_rows(square_xavier(even), logit_scales=True))
    page.text(r"""
        The logit scale `1/sqrt(d_head)` cancels the factor $h$ exactly, whatever the
        embedding's factor. The embedding's factor acts through the square of
        $c^{2} s^{2} + 1/2$, which the positions keep at 1/4 or more: no factor, however small,
        brings the variance of a score below $h/4$. It cannot stand in for the logit scale.""")
    second = _tails(page)
    page.section("Where it stops holding")
    _exceptions(page, second)
    return page


def _tails(page: Page) -> sympy.Expr:
    page.section("The tails")
    page.text(r"""
        For normal weights the fourth moment counts, for each projection, three ways to pair its
        four copies. The query's and the key's pairing are the same in three of the nine cases,
        which leaves $h^{2}$, and different in six, which leaves $h$. Given the input, and then
        averaged over tokens without positions, $\kappa$ being the excess kurtosis of the table:""")
    power = r"(q_{t} \cdot k_{s})^{4}"
    held = scores(projected("Q", a_q, HELD), projected("K", a_k, HELD))["t", "s"]
    page.equation(
        "scores.given_fourth",
        rf"\mathbb{{E}}[{power} \mid x]",
        sympy.factor(named(va.moment(held, 4))),
    )
    free = scores(projected("Q", a_q, TOKENS), projected("K", a_k, TOKENS))["t", "s"]
    fourth, second = sympy.factor(va.moment(free, 4)), va.variance(free)
    ratio = sympy.factor(fourth / second**2)
    kurtosis = (
        rf"\frac{{\mathbb{{E}}[{power}]}}{{\mathbb{{E}}[(q_{{t}} \cdot k_{{s}})^{{2}}]^{{2}}}} - 3"
    )
    page.equation("scores.fourth", rf"\mathbb{{E}}[{power}]", fourth)
    page.equation("scores.kurtosis", kurtosis, ratio - 3)
    page.section("Limits")
    page.text(r"""
        For $d \to \infty$ queries and keys become Gaussian, but the excess kurtosis of a logit
        does not vanish: it is a sum of $h$ products, and the product of two independent normal
        variables has the excess kurtosis 6. At `d_head` 64 it tends to 3/32; only for
        $h \to \infty$ as well is a logit Gaussian:""")
    wide = sympy.expand(sympy.limit(ratio, d, sympy.oo)) - 3
    page.equation("scores.wide", rf"\lim_{{d \to \infty}} {kurtosis}", wide)
    page.text(
        r"Without positions the variance keeps the table's part alone, for a table of any $\kappa$:"
    )
    page.equation("scores.plain", VARIANCE, lam**2 * second)
    return second


def _exceptions(page: Page, second: sympy.Expr) -> None:
    page.text(r"""
        **One projection for both.** With $W$ shared by queries and keys, of variance $a$, two
        weights of a score can also pair across query and key. For normal weights and different
        tokens two more pairings appear, one with a factor $h^{2}$ and one with $h$; the mean
        square of $x_{t} \cdot x_{s}$ brings only one factor $d$, so the result, without
        positions, is""")
    held = scores(projected("W", a, HELD), projected("W", a, HELD))["t", "s"]
    page.equation(
        "scores.shared_given",
        r"\mathbb{E}[(q_{t} \cdot k_{s})^{2} \mid x]",
        a**2 * h * sympy.collect(sympy.expand(named(va.moment(held, 2)) / (a**2 * h)), inner),
    )
    both = scores(projected("W", a, TOKENS), projected("W", a, TOKENS))["t", "s"]
    page.equation(
        "scores.shared", r"\mathrm{Var}[q_{t} \cdot k_{s}]", sympy.factor(va.variance(both))
    )
    page.text(r"""
        **No projection.** With the identity the score is $x_{t} \cdot x_{s}$; its mean is
        $p_{t} \cdot p_{s}$ and its variance is on [the sum's page](sum.md). At fixed $c s$ it
        grows with $d$ where that of square Xavier projections grows with $h$.

        **The same token twice** (probability $\rho$) makes the two rows one, and the product of
        two mean squared norms the mean fourth power of one norm. Without positions:""")
    same = scores(projected("Q", a_q, TOKENS), projected("K", a_k, TOKENS))["t", "t"]
    page.equation(
        "scores.repeated",
        r"\mathrm{Var}[q_{t} \cdot k_{s}]",
        tidy((1 - rho) * second + rho * va.variance(same)),
    )
