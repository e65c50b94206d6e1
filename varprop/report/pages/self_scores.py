"""The page on the score of a position with itself."""

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
    c,
    d,
    even_sinusoidal,
    kappa,
    lam,
    named,
    projected,
    s,
    scaling_rows,
    scores,
    square_xavier,
    tidy,
    u_s,
    u_t,
)
from varprop.report.page import Page

VARIANCE = r"\mathrm{Var}[q_{t} \cdot k_{t}]"


def build() -> Page:
    """Derive and write the page."""
    page = Page("A position's score with itself")
    page.section("Setting")
    page.text(r"""
        The diagonal of the score matrix, $\ell_{tt} := \lambda q_{t} \cdot k_{t}$, sees one row
        twice. Without $\lambda$ it is a score; the variance of the logit is $\lambda^{2}$ times
        that of the score. Everything else is as on [the page on scores](scores-and-logits.md):
        weights of variance $a_{q}$ and $a_{k}$ and mean 0, no biases, a table of excess
        kurtosis $\kappa$ and third cumulant 0, $u_{t} := \lVert p_{t} \rVert^{2}$.""")
    page.section("Independent projections")
    page.text(r"""
        The mean is 0 and the weights pair as before, only that both norms are those of one row.
        The mean of $\lVert x_{t} \rVert^{4}$ exceeds the squared mean of
        $\lVert x_{t} \rVert^{2}$ by the variance of the squared norm, which is on
        [the sum's page](sum.md):""")
    held = scores(projected("Q", a_q, HELD), projected("K", a_k, HELD))["t", "t"]
    page.equation(
        "self.given", r"\mathbb{E}[(q_{t} \cdot k_{t})^{2} \mid x]", named(va.moment(held, 2))
    )
    own = scores(projected("Q", a_q), projected("K", a_k))
    variance = tidy(named(va.variance(own["t", "t"])))
    page.equation("self.variance", VARIANCE, variance)
    page.text(r"""
        This is more than for a different position $s$ of the same norm, $u_{s}$ equal to
        $u_{t}$, by an amount of relative order $1/d$:""")
    apart = named(va.variance(own["t", "s"])).xreplace({u_s: u_t})
    page.equation(
        "self.excess",
        VARIANCE + r" - \mathrm{Var}[q_{t} \cdot k_{s}]",
        sympy.factor(variance - apart),
    )
    page.section("Under each rule")
    page.text("""
        The variance of a self-logit, normal table, square Xavier projections, sinusoidal
        positions of even width:""")
    square = lam**2 * square_xavier(even_sinusoidal(variance)).subs(kappa, 0)
    page.table("self.scaling", LOGIT_RULE, scaling_rows(square, logit_scales=True))
    _shared(page, variance)
    page.section("Where it stops holding")
    page.text(r"""
        **Constant norms.** A table of two-point entries $\pm s$ has $\kappa$ equal to $-2$:
        without positions its norms are fixed, and for independent projections the diagonal has
        exactly the variance of the other scores. **Weights that are not normal** add $h$ times
        their fourth cumulant times the mean of $\sum_{i} x_{ti}^{4}$ for a shared projection,
        and nothing for independent ones. **Biases** of variance $b$ enter both factors of a
        shared projection and add $h b$ to its mean.""")
    return page


def _shared(page: Page, variance: sympy.Expr) -> None:
    page.section("One projection for both")
    page.text(r"""
        With a shared $W$ (normal, variance $a$) the diagonal is a squared norm,
        $\lVert q_{t} \rVert^{2}$. The two weights of each square pair with each other, so the
        mean is not 0; in the square of the score this pairing leaves $h^{2}$ and the two others
        $h$ each:""")
    held = scores(projected("W", a, HELD), projected("W", a, HELD))["t", "t"]
    page.equation(
        "self.shared_given",
        r"\mathbb{E}[(q_{t} \cdot k_{t})^{2} \mid x]",
        sympy.factor(named(va.moment(held, 2))),
    )
    both = scores(projected("W", a), projected("W", a))["t", "t"]
    free = scores(projected("W", a, TOKENS), projected("W", a, TOKENS))["t", "t"]
    page.equation("self.shared_mean", r"\mathbb{E}[q_{t} \cdot k_{t}]", tidy(named(va.mean(both))))
    page.text("and, without positions:")
    page.equation("self.shared_variance", VARIANCE, sympy.factor(va.variance(free)))
    page.section("Limits")
    page.text("Without positions, for independent projections:")
    page.equation("self.plain", VARIANCE, sympy.factor(variance.subs(u_t, 0)))
    page.text(r"""
        For $d \to \infty$ at fixed entry variances the norm stops fluctuating and the variance
        of the diagonal becomes that of the other scores, for independent projections. For a
        shared one, with $a$ equal to $1/d$ and $c s$ equal to 1, the mean stays at $h$ and the
        variance tends to""")
    wide = sympy.limit(va.variance(free).subs({a: 1 / d, s: 1 / c}), d, sympy.oo)
    page.equation("self.shared_wide", r"\lim_{d \to \infty} " + VARIANCE, wide)
    page.text(r"""
        The diagonal then stands above 0, where the mean of the other scores is, by $\sqrt{h/2}$
        of its own standard deviations and $\sqrt{h}$ of theirs. $\lVert q_{t} \rVert^{2}$ is in
        this limit a chi-square variable with $h$ degrees of freedom, and becomes Gaussian only
        for $h \to \infty$.""")
