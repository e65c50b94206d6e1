"""What the row of a Transformer really has, for the page on the softmax."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import sympy

from varprop import algebra as va
from varprop.predict import predict
from varprop.quadrature import softmax_moments
from varprop.report import simulations
from varprop.report.comparisons import Comparison
from varprop.report.notation import TOKENS, a_k, a_q, c, d, h, kappa, lam, projected, s
from varprop.report.page import Page
from varprop.simulation.estimates import Estimate


def transformer(page: Page) -> None:
    """Write the sections on a Transformer's rows and on where they stop being of this kind."""
    page.section("The row of a Transformer")
    page.text(r"""
        Without positions, and with a normal table and normal weights, the logits
        $\ell_{ts} := \lambda q_{t} \cdot k_{s}$ of one query are
        $y_{t} \cdot x_{s}$ with $y_{t} := \lambda W_{k}^{\top} q_{t}$. The row $y_{t}$ depends
        on the weights and on the query's own token, not on the other ones. So *given the
        query* the keys of other positions are exactly what this page assumes: independent
        normal logits of one variance $v := c^{2} s^{2} \lVert y_{t} \rVert^{2}$. But this $v$
        is itself random. Given the token the query is isotropic with
        $\lVert q_{t} \rVert^{2}$ a chi-square of $h$ degrees times
        $a_{q} \lVert x_{t} \rVert^{2}$; given the query $y_{t}$ is isotropic with a chi-square
        of $d$ degrees times $\lambda^{2} a_{k} \lVert q_{t} \rVert^{2}$; and
        $\lVert x_{t} \rVert^{2}$ is $c^{2} s^{2}$ times a chi-square of $d$ degrees. The engine
        finds the mean of $v$, which is the variance of a logit, and its relative variance, in
        which each chi-square of $k$ degrees has the factor $1 + 2/k$:""")
    mean, second = (sympy.factor(moment) for moment in variance_moments())
    page.equation("softmax.row_mean", r"\mathbb{E} v", mean)
    relative = second / mean**2 - 1
    page.equation(
        "softmax.row_spread",
        r"\frac{\mathrm{Var}[v]}{\left(\mathbb{E} v\right)^{2}}",
        (1 + 2 / h) * (1 + 2 / d) ** 2 - 1,
        sympy.factor(relative),
    )
    page.text(r"""
        This is a third of the excess kurtosis of a logit, as for every mixture of normal laws.
        For large $d$ the std of $v$ is $\sqrt{2/h}$ of its mean: 18% at `d_head` 64, 71% at 4,
        and no larger `d_model` makes it shrink. Averages over rows are therefore those above
        averaged once more over $v$, and not those at the mean of $v$ (the plug-in). The
        functions above are curved in $v$: the entropy's loss starts as $v/2$ and levels off at
        $\log n$, so by Jensen's inequality the plug-in overstates it. The last table shows by
        how much.

        **The own key** is the exception in its row: $x_{t}$ made the query. Its logit is
        $\sqrt{v} \sqrt{G} \cos \theta$, with $G$ the chi-square of $d$ degrees of the
        own token, which is a factor of $v$ too, and $\theta$ the angle between $y_{t}$ and
        $x_{t}$, uniform on the sphere. Its mean square exceeds that of the others,
        $\mathbb{E} v$, by a factor""")
    own = va.moment(_logits()["t", "t"], 2).subs(kappa, 0)
    page.equation(
        "softmax.own_key",
        r"\frac{\mathbb{E} \ell_{tt}^{2}}{\mathbb{E} v}",
        sympy.factor(own / mean),
    )
    page.text(r"""
        It is one key of $n$ and close to the others in law: for $d \to \infty$ it is one of them.
        The prediction of `attention` integrates over it exactly, with $e^{-t e^{\ell_{tt}}}$
        for one of the $\phi$.

        **A causal mask** leaves the query of position $i$ the first $i$ keys: a row of $i$
        logits with the same law of $v$, and the stage averages over $i$ up to `seq_len`. The
        first row has one key, of weight 1, whatever its logit.

        **The output of attention** sums values, $o_{t} := \sum_{s} p_{s} W x_{s}$. Its weights
        know $x_{s}$ along $y_{t}$ only, for that is the logit: $\ell_{ts}$ divided by
        $\lVert y_{t} \rVert$. The $d - 1$ directions at right angles are independent of them and
        give the squared norm of $\sum_{s} p_{s} x_{s}$ the mean
        $c^{2} s^{2} (d - 1) \mathbb{E} \sum_{s} p_{s}^{2}$; along $y_{t}$ it holds the square of
        $\sum_{s} p_{s} \ell_{ts}$ divided by $\lVert y_{t} \rVert^{2}$, which stays when the
        softmax is even and $n$ large: a query finds its own direction in what it reads. For value
        weights of mean 0 the variance of an entry of $o_{t}$ is the variance of a weight times
        the sum of both; the own key's row enters with its own two parts.""")
    page.section("Where it stops holding")
    page.text(r"""
        **The variance of a logit is not what counts**, only its variance along a row. If all
        keys of a row are equal (one token at every position) the logits may have any variance,
        and the softmax is uniform. Key biases, and a segment row's part in the keys, add one
        amount to a whole row and drop out.

        **Positions** with rows $f_{s}$ give each key a mean of its own, $y_{t} \cdot f_{s}$:
        given the query the logits are still independent, with the same variance but these
        means, so $\phi(t)^{n}$ becomes a product of $\phi(t e^{y_{t} \cdot f_{s}})$ over the
        keys. The means vary along the row and widen it; taking the row's whole variance for $v$
        treats their spread as normal, an approximation whose name is `asymptotic` in `varprop`.

        **Tables and weights that are not normal** make $y_{t} \cdot x_{s}$ a sum of $d$
        independent terms that is normal only for $d \to \infty$. **Repeated tokens** make equal
        logits, which is not independent. **One projection for both** makes the own logit
        $\lambda \lVert q_{t} \rVert^{2}$: it is on
        [the page on self-scores](self-scores.md) and can win the row on its own.
        **Dropout** of the attention weights comes after the softmax and divides by what it
        keeps: means of weights stay, their squares grow.""")


def _logits() -> Any:
    query, key = projected("Q", a_q, TOKENS), projected("K", a_k, TOKENS)
    return lam * va.einsum("ta,sa->ts", query, key)


def variance_moments() -> tuple[Any, Any]:
    """Mean and mean square of a row's variance v for a normal table."""
    weights = va.iid("K", (h, d), variance=a_k)
    row = lam * va.einsum("ai,ta->ti", weights, projected("Q", a_q, TOKENS))
    variance = (c**2 * s**2 * va.einsum("ti,ti->t", row, row))["t"]
    return va.mean(variance).subs(kappa, 0), va.moment(variance, 2).subs(kappa, 0)


QUANTITIES = ("entropy_deficit", "sum_squares", "jacobian_squared_norm")


def _iid(keys: int, variance: float) -> dict[str, float]:
    found = softmax_moments(keys, variance)
    return {name: getattr(found, name) for name in ("logsumexp_excess", *QUANTITIES, "max_weight")}


def _fields(d_head: int) -> dict[str, Any]:
    return {
        "d_model": 32,
        "n_heads": 1,
        "d_head": d_head,
        "seq_len": 32,
        "position": "none",
        "query": "normal(std=1/sqrt(d_model))",
        "key": "normal(std=1/sqrt(d_model))",
        "logit_scale": "2/sqrt(d_head)",
    }


def _stage(d_head: int) -> dict[str, float]:
    attention = predict(**_fields(d_head))["attention"]
    return {name: getattr(attention, name) for name in QUANTITIES}


def _plugged_in(d_head: int) -> dict[str, float]:
    p = predict(**_fields(d_head))
    return _iid(p.spec.seq_len, p.logits.variance)


def _simulated(d_head: int, seed: int = 0) -> Mapping[str, Estimate]:
    from varprop.simulate import measure

    measured = measure(**_fields(d_head), replicates=10_000, seed=seed, progress=False)["attention"]
    return {name: getattr(measured, name) for name in QUANTITIES}


COMPARISONS = (
    Comparison(
        "softmax.iid",
        "Rows of independent normal logits, beside 200,000 rows each:",
        ("keys", "variance"),
        ((16, 1.0), (128, 1.0), (128, 16.0), (1024, 16.0)),
        ("logsumexp_excess", *QUANTITIES, "max_weight"),
        {"predicted": _iid},
        simulations.softmax_rows,
    ),
    Comparison(
        "softmax.mixture",
        """
        Rows of a Transformer (`d_model` 32, 32 keys, mean variance 4) for heads of different
        width: the prediction averages over $v$ and the own key; the plug-in puts the mean of
        $v$ into the formulas for independent logits. Measured with 10,000 replicates each:""",
        ("d_head",),
        ((1,), (4,), (16,), (64,)),
        QUANTITIES,
        {"predicted": _stage, "plug-in": _plugged_in},
        _simulated,
    ),
)
