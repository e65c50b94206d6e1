"""The page on rotary positions."""

from __future__ import annotations

from typing import Any

import sympy

from varprop import algebra as va
from varprop.report.notation import (
    HELD,
    LOGIT_RULE,
    TOKENS,
    a,
    a_k,
    a_q,
    h,
    inner,
    lam,
    named,
    norm_s,
    norm_t,
    projected,
    scaling_rows,
    square_xavier,
    tau,
    tau_2,
    theta,
)
from varprop.report.page import Page

ROTATION = va.fixed("R", (h, h))
SCORE = r"q_{t}^{\top} R k_{s}"


def build() -> Page:
    """Derive and write the page."""
    page = Page("Rotary positions")
    page.section("Setting")
    page.text(r"""
        Rotary encoding adds nothing to the embedding. It turns pairs of channels of every query
        and key: pair $k$ at position $t$ by the angle $\omega_{k} t$, the first $r$ of the $h$
        channels in all, the others not. With $q_{t}$ and $k_{s}$ as they are before they are
        turned, the score of two positions is $q_{t}^{\top} R k_{s}$, where
        $R := R_{t}^{\top} R_{s}$ turns pair $k$ by $\theta_{k} := \omega_{k}(s - t)$. The input
        is the scaled table, $x_{ti} := c E_{u(t) i}$, at different tokens; weights have mean 0
        and variances $a_{q}$ and $a_{k}$, and there are no biases.""")
    page.section("A rotation keeps norms")
    page.text("""
        One turning pair is a two by two block. Its four squares add to 2, so the squares of all
        entries of the rotation add to the number of channels, whatever the angles:""")
    cosine, sine = sympy.cos(theta), sympy.sin(theta)
    block = sympy.Matrix([[cosine, -sine], [sine, cosine]])
    squares = sympy.trigsimp((block.T * block).trace())
    page.equation("rotary.block", r"2\cos^{2}\theta + 2\sin^{2}\theta", squares)
    page.text(r"""
        The channels of $q_{t}$ are uncorrelated and have equal variance, and so have those of
        $R_{t} q_{t}$: mean and variance of queries and keys do not change. In the square of a
        score, query weights pair with query weights and key weights with key weights, which
        leaves the sum of the squares of the entries of $R$. That sum is $h$, as without
        rotation:""")
    apart = named(_contract(va.variance(_turned("Q", a_q, "K", a_k, TOKENS)["t", "s"])))
    page.equation("rotary.variance", rf"\mathrm{{Var}}[\lambda {SCORE}]", lam**2 * apart)
    page.text("""
        The score of a position with itself is not turned at all, so every attribute of
        `self_logits` is unchanged.""")
    page.section("Under each rule")
    page.text("The variance of a logit for square Xavier projections; the positions play no part:")
    page.table(
        "rotary.scaling", LOGIT_RULE, scaling_rows(square_xavier(lam**2 * apart), logit_scales=True)
    )
    both = _shared(page)
    page.section("Limits")
    page.text(r"""
        Without rotation $R$ is the identity, $\tau$ and $\tau_{2}$ are $h$, and the page on
        [scores](scores-and-logits.md) is recovered:""")
    still = sympy.factor(both.subs({tau: h, tau_2: h}))
    page.equation("rotary.still", r"\mathrm{Var}[q_{t} \cdot k_{s}]", still)
    page.text(r"""
        Averaged over distances far beyond the longest wave, the angles of a full rotation are
        spread evenly and independently: $\tau^{2}$ averages to $h$ and $\tau_{2}$ to 0. The
        factor $h$ beside $d$ is gone:""")
    far = sympy.factor(both.subs({tau: sympy.sqrt(h), tau_2: 0}))
    page.equation("rotary.far", rf"\mathrm{{Var}}[{SCORE}]", far)
    page.text(r"""
        For $d \to \infty$ at fixed $h$ the shared projection's extra terms vanish beside $d h$.
        A rotation of Gaussian queries with equal variances leaves them Gaussian.""")
    return page


def _shared(page: Page) -> sympy.Expr:
    page.section("Where it stops holding: a shared projection")
    page.text(r"""
        If queries and keys share $W$ (normal, variance $a$), a query weight can pair with a key
        weight. In the square of a score two more pairings appear, with the traces
        $\tau := \mathrm{tr} R$ and $\tau_{2} := \mathrm{tr} R^{2}$; both pair queries with
        keys, so the input enters through its inner product:""")
    given = named(_contract(va.moment(_turned("W", a, "W", a, HELD)["t", "s"], 2)))
    both = sympy.factor(_contract(va.variance(_turned("W", a, "W", a, TOKENS)["t", "s"])))
    norms = a**2 * h * norm_t**2 * norm_s**2
    page.equation(
        "rotary.given",
        rf"\mathbb{{E}}[({SCORE})^{{2}} \mid x]",
        norms + sympy.factor(given - norms, inner),
    )
    page.equation("rotary.shared", rf"\mathrm{{Var}}[{SCORE}]", both)
    page.text(r"""
        A turning pair has the trace $2\cos\theta$, and its square the trace below; a channel
        that does not turn counts 1 in both. The variance now depends on the distance, and is
        largest where all $\theta_{k}$ are near 0:""")
    block = sympy.Matrix(
        [[sympy.cos(theta), -sympy.sin(theta)], [sympy.sin(theta), sympy.cos(theta)]]
    )
    page.equation("rotary.trace", r"\mathrm{tr} R_{\theta}", block.trace())
    page.equation(
        "rotary.trace_square",
        r"\mathrm{tr} R_{\theta}^{2}",
        sympy.trigsimp((block * block).trace()),
    )
    page.text(r"""
        Two positions with the same token have, through a shared projection, a score of mean not
        0. It follows the trace: $h$ at distance 0, less and oscillating farther away. So equal
        tokens attract each other most when they are near:""")
    same = va.einsum("ta,ab,tb->t", projected("W", a, TOKENS), ROTATION, projected("W", a, TOKENS))
    page.equation("rotary.same_token", rf"\mathbb{{E}}[{SCORE}]", _contract(va.mean(same["t"])))
    page.text(r"""
        **Means are turned too.** A bias of mean not 0 makes the mean of a query depend on its
        position; weights of mean not 0 correlate the two channels of a pair, so that the
        variance of each depends on the angle. **Weights that are not normal**: a turned entry
        mixes two rows of weights and is more nearly normal. Its variance does not change, its
        excess kurtosis does.""")
    return both


def _turned(query: str, a_query: Any, key: str, a_key: Any, rows: Any) -> Any:
    return va.einsum(
        "ta,ab,sb->ts", projected(query, a_query, rows), ROTATION, projected(key, a_key, rows)
    )


def _contract(expression: sympy.Expr) -> sympy.Expr:
    """Write the rotation's contractions as what they are: squares h, traces tau and tau_2."""
    values = {}
    for total in expression.atoms(sympy.Sum):
        text = str(total.function)
        if "R[" in text:
            values[total] = h if "**2" in text else tau_2 if "*" in text else tau
    return expression.xreplace(values)
