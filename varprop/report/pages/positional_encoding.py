"""The page on the positional encoding."""

from __future__ import annotations

import sympy

from varprop import algebra as va
from varprop.encodings import SinusoidalInvariants
from varprop.report.notation import RULE, TOKENS, d, n, omega, scaling_rows, theta
from varprop.report.page import Page

LENGTHS = (1, 16, 128, 1024, 16_384, 10**6, 10**9)
COLUMNS = ["mean", "mean square", "variance (pooled)", "variance over positions"]


def build() -> Page:
    """Derive and write the page."""
    page = Page("The positional encoding")
    page.section("Setting")
    page.text(r"""
        The sinusoidal encoding is a fixed table $p$; nothing in it is drawn, so nothing pairs
        and everything below is trigonometry. With the frequencies $\omega_{k} := \beta^{-2k/d}$
        (base $\beta$, 10000 by default) and positions $t$ from 0 to $n - 1$,

        $$p_{t,2k} := \sin(\omega_{k} t), \qquad p_{t,2k+1} := \cos(\omega_{k} t).$$

        For odd $d$ the last channel is a sine without its cosine. "Variance" can only mean a
        variance over positions, over channels, or over both: over draws it is 0.""")
    page.section("The mean square is one half, exactly")
    page.text(r"""
        The two channels of one frequency have squares that add to 1 at every position. For even
        $d$ there are $d/2$ such pairs, so every row has the same norm:""")
    pair = sympy.trigsimp(sympy.sin(theta) ** 2 + sympy.cos(theta) ** 2)
    half = sympy.Rational(1, 2)
    page.equation("position.pair", r"\sin^{2}\theta + \cos^{2}\theta", pair)
    page.equation("position.mean_square", r"\frac{\lVert p_{t} \rVert^{2}}{d}", d / 2 * pair / d)
    page.text(
        r"For odd $d$ the lone sine, at the angle $\theta := \omega_{(d-1)/2} t$, is left over:"
    )
    odd = (sympy.sin(theta) ** 2 + (d - 1) / 2) / d
    page.equation(
        "position.mean_square_odd",
        r"\frac{\lVert p_{t} \rVert^{2}}{d}",
        odd,
        half + sympy.trigsimp(sympy.expand(odd - half)),
    )
    _means(page)
    page.section("Inner products depend on the distance only")
    page.text(r"""
        Let one frequency stand at the angle $\omega$ at position $t$ and at $\omega + \theta$
        at position $s$. Its two channels contribute to $p_{t} \cdot p_{s}$ the cosine of the
        difference:""")
    page.equation(
        "position.product",
        r"\cos\omega \cos(\omega + \theta) + \sin\omega \sin(\omega + \theta)",
        sympy.trigsimp(
            sympy.cos(omega) * sympy.cos(omega + theta)
            + sympy.sin(omega) * sympy.sin(omega + theta)
        ),
    )
    page.text(r"""
        For even $d$, therefore, $p_{t} \cdot p_{s}$ is $\sum_{k} \cos(\omega_{k}(s - t))$. Over
        all pairs of positions, equal ones included, these cosines add to
        $\lvert \sum_{t} e^{i \omega t} \rvert^{2}$; the $n$ equal pairs are taken away. For one
        frequency the average over different positions is""")
    ratio = sympy.sin(n * omega / 2) ** 2 / sympy.sin(omega / 2) ** 2
    page.equation(
        "position.pairs",
        r"\frac{1}{n(n-1)}\sum_{t \neq s} \cos(\omega(s - t))",
        (ratio - n) / (n * (n - 1)),
    )
    page.section("Under each rule")
    page.text("""
        The factor multiplies the embedding, not the encoding. What a rule decides is how much
        of the mean square of [the sum](sum.md) the encoding holds,
        `p["input"].shares["position"]`, here for even `d_model`. The logit scale plays no part.""")
    square = va.moment(TOKENS["t", "i"], 2) + half
    page.table("position.share", RULE, scaling_rows(half / square))
    page.section("Limits")
    page.text(r"""
        For $n \to \infty$ at fixed $d$ every channel's mean tends to 0 and both variances to
        $1/2$, but only once $n$ exceeds the longest wave by far, which is up to $2\pi\beta$
        positions long. For $n$ equal to 1 and even $d$ the row is $0, 1, 0, 1, \dots$, with
        mean $1/2$ and pooled variance $1/4$. Without positions there is nothing to say; a
        Gaussian limit does not exist, since the entries stay sines.""")
    page.section("Where it stops holding")
    page.text("""
        "The variance of a sinusoidal encoding is 0.5" is right for the mean square and wrong
        for a variance: in the first row of the table of lengths a single position has 0.25, and
        the `var()` of a NumPy array gives the pooled column. Learned positions are another
        matter: their rows are drawn, and their variance is their initializer's.""")
    return page


def _means(page: Page) -> None:
    page.section("The mean is not zero")
    page.text(r"""
        Over positions, one frequency averages to a geometric sum of $e^{i \omega t}$. Its real
        and imaginary parts are the means of the two channels:""")
    size = sympy.sin(n * omega / 2) / (n * sympy.sin(omega / 2))
    middle = (n - 1) * omega / 2
    page.equation(
        "position.mean_cosine", r"\frac{1}{n}\sum_{t} \cos(\omega t)", size * sympy.cos(middle)
    )
    page.equation(
        "position.mean_sine", r"\frac{1}{n}\sum_{t} \sin(\omega t)", size * sympy.sin(middle)
    )
    page.text(r"""
        Where $\omega n$ is small the cosine channel stays near 1. At `d_model` 512 and 128
        positions $\omega_{k} n$ is below 1 for 47% of the frequencies. So the table's mean
        $\bar{p}$ is far from 0, and the pooled variance, $1/2 - \bar{p}^{2}$, is far from
        $1/2$. For `d_model` 512, from the closed form, whose cost does not depend on the
        length:""")
    header = ["seq_len", *COLUMNS, "mean of p_t · p_s / d"]
    page.table("position.lengths", header, [_length_row(length) for length in LENGTHS])
    page.text("""
        The pooled variance is over positions and channels together; the variance over positions
        is taken in each channel and then averaged, so it leaves out how the channels' means
        differ. The last column is over different positions.""")


def _length_row(length: int) -> list[str]:
    table = SinusoidalInvariants(512, length)
    over_positions = table.mean_square - table.mean_vector_square_norm / 512
    apart = table.mean_inner_product
    values = [table.mean, table.mean_square, table.variance, over_positions]
    return [
        f"{length:,}",
        *(f"{value:.6g}" for value in values),
        "none" if apart is None else f"{apart / 512:.6g}",
    ]
