"""The page on the projections to queries and keys."""

from __future__ import annotations

import sympy

from varprop import algebra as va
from varprop.report.notation import (
    HELD,
    RULE,
    TOKENS,
    a_q,
    b_q,
    bias,
    c,
    d,
    even_sinusoidal,
    h,
    mu,
    n,
    named,
    projected,
    s,
    scaling_rows,
    square_xavier,
    tidy,
)
from varprop.report.page import Page


def build() -> Page:
    """Derive and write the page."""
    page = Page("Queries and keys")
    page.section("Setting")
    page.text(r"""
        A query is $q_{ta} := \sum_{i} W_{ai} x_{ti} + B_{a}$. The weights are independent with
        mean 0 and variance $a_{q}$, the biases with mean 0 and variance $b_{q}$, and neither
        depends on the input $x$ of [the sum's page](sum.md); $u_{t} := \lVert p_{t} \rVert^{2}$
        and $w_{ts} := p_{t} \cdot p_{s}$ are again those of its encoding. Keys are the same
        with $a_{k}$ and $b_{k}$.""")
    page.section("Second moments need only norms and inner products")
    page.text(r"""
        Take the weights first, with $x$ held fixed. A product of two weights survives only if
        it is the same weight twice: the two sums over $i$ become one, and what is left of $x$
        is $\lVert x_{t} \rVert^{2}$ or $x_{t} \cdot x_{s}$. No assumption on the distribution
        of $x$ is used, and none on that of the weights beyond independence, mean and variance:""")
    held = projected("W", a_q, HELD) + bias("B", b_q)
    query = projected("W", a_q) + bias("B", b_q)
    page.equation(
        "projections.given",
        r"\mathbb{E}[q_{ta}^{2} \mid x]",
        named(va.moment(held["t", "a"], 2)),
    )
    page.equation(
        "projections.given_cross",
        r"\mathbb{E}[q_{ta} q_{sa} \mid x]",
        named(va.mean(held["t", "a"], held["s", "a"])),
    )
    page.text(
        "Then the tokens are averaged, which puts in the norm and inner product of the sum's page:"
    )
    full, plain = (
        named(va.variance(query["t", "a"])),
        named(va.variance(projected("W", a_q)["t", "a"])),
    )
    page.equation("projections.variance", r"\mathrm{Var}[q_{ta}]", tidy(full))
    cross = named(va.mean(query["t", "a"], query["s", "a"]))
    page.equation("projections.cross", r"\mathbb{E}[q_{ta} q_{sa}]", cross)
    page.text("""
        With sinusoidal positions of even width and no bias, the variance is the same at every
        place:""")
    even = sympy.factor(even_sinusoidal(plain))
    page.equation("projections.sinusoidal", r"\mathrm{Var}[q_{ta}]", even)
    page.section("Which variance an initializer gives")
    page.text("""
        Fans are PyTorch's: `fan_in` is `d_model`, `fan_out` is `n_heads * d_head`, which is
        `d_model` as a rule. The last column is the variance of a query entry over the mean
        square of an input entry, for a square matrix:""")
    page.table(
        "projections.initializers",
        ["initializer", "variance of a weight", "gain of the mean square"],
        [[f"`{name}`", variance, tidy(d * variance)] for name, variance in _initializers()],
    )
    page.section("Under each rule")
    page.text("""
        The variance of a query entry for square Xavier projections and sinusoidal positions of
        even width. The gain is 1, so it is the mean square of the input; the logit scale plays
        no part:""")
    page.table("projections.scaling", RULE, scaling_rows(square_xavier(even)))
    _fourth_moments(page)
    page.section("Where it stops holding")
    weights = va.iid("W", (h, d), mean=mu, variance=a_q)
    rows = c * va.iid("E", (n, d), variance=s**2)
    shifted = va.einsum("ai,ti->ta", weights, rows)
    page.text(r"""
        **Weights with a mean.** If a weight has mean $\mu$, all entries of a query share the
        part $\mu \sum_{i} x_{ti}$. The variance now depends on that sum as well as on the norm,
        and the entries are correlated; without positions:""")
    page.equation(
        "projections.mean_weight",
        r"\mathrm{Var}[q_{ta}]",
        sympy.factor(va.variance(shifted["t", "a"])),
    )
    page.equation(
        "projections.correlated",
        r"\mathrm{Cov}[q_{ta}, q_{tb}]",
        va.covariance(shifted["t", "a"], shifted["t", "b"]),
    )
    page.text(r"""
        **The identity** ($q_{t}$ is $x_{t}$) has no weights to average over: a query keeps the
        mean $p_{ti}$ of each place, and its scores are the inner products of
        [the sum's page](sum.md).""")
    return page


def _fourth_moments(page: Page) -> None:
    page.section("Entries of one query are uncorrelated, not independent")
    page.text(r"""
        All entries of $q_{t}$ see the same $x_{t}$, so their squares are correlated through its
        norm. Four normal weights, without biases, pair up in three ways inside one entry, and
        in one way across two entries:""")
    held = projected("W", a_q, HELD)
    page.equation(
        "projections.given_fourth",
        r"\mathbb{E}[q_{ta}^{4} \mid x]",
        named(va.moment(held["t", "a"], 4)),
    )
    squares = va.einsum("ta,ta->ta", held, held)
    page.equation(
        "projections.given_squares",
        r"\mathbb{E}[q_{ta}^{2} q_{tb}^{2} \mid x]",
        named(va.mean(squares["t", "a"], squares["t", "b"])),
    )
    page.text(r"""
        What is left after the squared mean square is taken away is the variance of
        $\lVert x_{t} \rVert^{2}$, times 3 or 1; without positions:""")
    free = projected("W", a_q, TOKENS)
    fourth = va.cumulant(free["t", "a"], 4)
    page.equation(
        "projections.fourth",
        r"\mathbb{E}[q_{ta}^{4}] - 3 \mathbb{E}[q_{ta}^{2}]^{2}",
        sympy.factor(fourth),
    )
    squares = va.einsum("ta,ta->ta", free, free)
    page.equation(
        "projections.squares",
        r"\mathrm{Cov}[q_{ta}^{2}, q_{tb}^{2}]",
        sympy.factor(va.covariance(squares["t", "a"], squares["t", "b"])),
    )
    page.section("Limits")
    page.text(r"""
        Without positions $u_{t}$ and $w_{ts}$ are 0. The excess kurtosis of a query entry is
        then, for normal weights, three times the relative fluctuation of
        $\lVert x_{t} \rVert^{2}$. It vanishes for $d \to \infty$, where a query becomes
        Gaussian; at finite $d$ it vanishes only for a table of two-point entries ($\kappa$
        equal to $-2$), all of whose rows have the same norm:""")
    page.equation(
        "projections.kurtosis",
        r"\frac{\mathbb{E}[q_{ta}^{4}]}{\mathbb{E}[q_{ta}^{2}]^{2}} - 3",
        sympy.simplify(fourth / va.variance(free["t", "a"]) ** 2),
    )


def _initializers() -> list[tuple[str, sympy.Expr]]:
    """Weight variances from the initializers themselves, for n_heads * d_head equal to d_model."""
    from varprop.expressions import SYMBOLIC
    from varprop.spec import TransformerSpec

    fused = "xavier_uniform(fan_out=3*d_model)"
    variances = []
    for name in ("xavier_uniform", fused, "kaiming_uniform", "kaiming_normal", "lecun_normal"):
        spec = TransformerSpec(query=name)
        sizes = spec.sizes(SYMBOLIC)
        variance = spec.distribution("query", SYMBOLIC).cumulant(2)
        square = variance.subs(sizes["d_head"], sizes["d_model"] / sizes["n_heads"])
        variances.append((name, sympy.simplify(square).subs(sizes["d_model"], d)))
    return variances
