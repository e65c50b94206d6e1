"""The page on half precision."""

from __future__ import annotations

import math
from typing import Any

import sympy

from varprop import algebra as va
from varprop.precision import precision
from varprop.precision.formats import FORMATS, format_named
from varprop.precision.mixtures import Length, Product
from varprop.report.notation import (
    HELD,
    RULE,
    TOKENS,
    a_k,
    a_q,
    d,
    named,
    norm_s,
    norm_t,
    projected,
    scaling_rows,
    scores,
)
from varprop.report.page import Page

m, k, j, u, x, z = sympy.symbols("m k j u x z", positive=True)
UNIT: dict[str, Any] = {"query": "normal(std=1)", "key": "normal(std=1)", "position": "none"}
WIDTHS = ((512, 64), (4096, 128), (12288, 128))
STDS = (2, 3, 4, 6, 8)
HEADS = (128, 64, 16, 2)
FACTORS = (512, 768, 1152, 3072, 4096)
SCALED = (64, 80, 96, 128, 256)


def build() -> Page:
    """Derive and write the page."""
    page = Page("Half precision")
    page.section("Setting")
    page.text(r"""
        A format keeps $m$ binary digits after the first one. Between two powers of two, $2^{j}$
        and $2^{j+1}$, its numbers are the multiples of the step $u := 2^{j-m}$, up to a largest
        exponent $k$; below the smallest normal number the step does not shrink any more. Each
        entry $x$ of a stage is computed in exact arithmetic, has the law that the stage has
        when a model is drawn, and is rounded once, to the nearest number $\hat{x}$, of two
        equally near ones to the even one. Nothing is said of sums that are accumulated in the
        format itself.""")
    _thresholds(page)
    _noise(page)
    _tails(page)
    _rules(page)
    page.section("Limits")
    page.text(r"""
        For $h \to \infty$ a score is normal, and every law here is the normal one; the table of
        tails says how slowly. For $m \to \infty$ the noise goes to 0 like $2^{-2m}$, but its
        relation to that never settles: it swings with the place of the law between two powers
        of two.""")
    _exceptions(page)
    return page


def _thresholds(page: Page) -> None:
    page.section("Thresholds")
    page.text(r"""
        The largest number $x_{\max}$ has all digits set. What is at most half a step above it is
        nearer to it than to the next multiple, which does not exist. The tie is rounded to the
        even one, and $x_{\max}$ is odd, so the least number that becomes infinite is""")
    largest, step = 2**k * (2 - 2**-m), 2 ** (k - m)
    tidy = 2**k * (2 - 2 ** (-m - 1))
    page.equation("half.overflow", r"x_{\infty}", largest + step / 2, tidy)
    page.text(r"""
        The smallest normal number is $2^{1-k}$, and the step from there down to 0 is
        $2^{1-k-m}$. Up to half of that, included, becomes 0:""")
    page.equation("half.zero", r"x_{0}", 2 ** (-k - m))
    page.text(r"""
        Adding 1 again and again stalls where 1 is half a step and the sum is even, at the first
        power of two whose step is 2. A mean over more ones than that, accumulated in the format,
        is wrong:""")
    page.equation("half.stall", r"n_{\max}", 2 ** (m + 1))
    page.text("""
        All three hold for the formats with an infinity, which is what comes after the largest
        exponent. `float8_e4m3fn` has none and uses that exponent too, but for its last number,
        which is nan. So its largest number is even, and the tie goes back to it:""")
    header = ["format", "digits", "largest", "overflows from", "0 up to", "eps", "stalls at"]
    page.table("half.formats", header, [_format_row(name) for name in FORMATS])
    page.text("""
        In the third row 464 itself is the tie; the others overflow at the number shown. The
        factor `sqrt(d_model)` is a constant, and so is rounded the same way in every entry.
        That changes the variance by hardly more than eps, here in `float16` and `bfloat16`:""")
    header = ["d_model", "float16", "variance times", "bfloat16", "variance times"]
    page.table("half.factors", header, [_factor_row(width) for width in FACTORS])


def _format_row(name: str) -> list[str]:
    form = format_named(name)
    digits = round(-sympy.log(form.eps, 2))
    ends = (form.largest, form.overflow, form.smallest_subnormal / 2, form.eps)
    return [f"`{name}`", str(digits), *(f"{end:.6g}" for end in ends), str(form.stall_length)]


def _factor_row(width: int) -> list[str]:
    cells = []
    for dtype in ("float16", "bfloat16"):
        found = precision(d_model=width, n_heads=1, dtype=dtype)
        cells += [f"{found.multiplier:.8g}", f"{found.multiplier_variance_factor:.6f}"]
    return [f"{width:,}", *cells]


def _noise(page: Page) -> None:
    page.section("What rounding adds")
    page.text("A density that hardly changes within a step spreads the error evenly over it:")
    cell = sympy.integrate(x**2, (x, -u / 2, u / 2)) / u
    page.equation("half.cell", r"\frac{1}{u} \int_{-u/2}^{u/2} x^{2} dx", cell)
    page.text(r"""
        Relative to $x^{2}$ that only depends on where $x$ lies between two powers of two. Let
        $x$ be $2^{j+w}$; on average over all places $w$ from 0 to 1 alike the powers of two
        cancel:""")
    place = sympy.integrate(2 ** (-2 * j) * cell.subs(u, 2 ** (j - m)) / x**3, (x, 1, 2))
    ratio = 2 ** (-2 * m) * sympy.simplify(place * 2 ** (2 * m)) / sympy.log(2)
    page.equation("half.noise", r"\int_{0}^{1} \frac{u^{2}}{12 x^{2}} dw", ratio)
    page.text(r"""
        So for any law of $x$ the noise is this part of the mean square, on average over the
        units in which $x$ is measured, up to terms of the order of its square. A law that
        spreads its mean square over a few powers of two stays close to the average whatever
        the unit: a normal one within 1%.""")
    page.text("""
        `rounding_variance` adds this up between all powers of two: with the probability of each
        stretch, and with the Euler-Maclaurin terms where the density changes; cell by cell, in
        closed form, where a law is as narrow as the cells. It is the mean square given that the
        result is finite. A normal number loses about 4e-8 of its mean square in `float16` and
        3e-6 in `bfloat16`: at initialisation nothing that one would see.""")


def _tails(page: Page) -> None:
    page.section("Tails of products")
    page.text(r"""
        Whether a score overflows is a matter of its tail, not of its variance. Given both rows
        of the input, a score with normal weights is a sum of $h$ products of pairs of
        independent normal numbers. Its second and fourth moment, from
        [their page](scores-and-logits.md), give the excess kurtosis""")
    held = scores(projected("Q", a_q, HELD), projected("K", a_k, HELD))["t", "s"]
    second, fourth = (named(va.moment(held, order)) for order in (2, 4))
    kurtosis = (
        r"\frac{\mathbb{E}[(q_{t} \cdot k_{s})^{4} \mid x]}"
        r"{\mathbb{E}[(q_{t} \cdot k_{s})^{2} \mid x]^{2}} - 3"
    )
    page.equation("half.kurtosis", kurtosis, sympy.simplify(fourth / second**2 - 3))
    page.text(r"""
        The tail itself: given $k_{s}$ too, the score is normal with a variance proportional to
        $\lVert k_{s} \rVert^{2}$, a chi-square number of $h$ degrees. For $h$ equal to 2 that is
        an exponential number, and a normal number of exponential variance has the law of Laplace.
        At $z$ standard deviations""")
    page.equation(
        "half.laplace",
        r"\mathbb{P}(\lvert q_{t} \cdot k_{s} \rvert \geq z \sigma)",
        sympy.exp(-sympy.sqrt(2) * z),
    )
    page.text("""
        For other widths `varprop.precision` integrates over the chi-square number. Here is the
        chance of so many standard deviations, which a rule made for normal numbers
        underestimates the more, the farther out it is used:""")
    header = ["stds", "normal", *(f"d_head {width}" for width in HEADS)]
    page.table("half.tails", header, [_tail_row(stds) for stds in STDS])
    page.text(r"""
        Without a norm the lengths of the two rows fluctuate as well, and make the tail heavier
        still; `varprop.precision` integrates over them too.""")


def _tail_row(stds: int) -> list[str]:
    laws = (Product(1.0), *(Product(1 / width, (Length(1.0, width),)) for width in HEADS))
    return [str(stds), *(f"{math.exp(law.log_tail(float(stds))):.4g}" for law in laws)]


def _rules(page: Page) -> None:
    page.section("Under each rule")
    held = scores(projected("Q", a_q, HELD), projected("K", a_k, HELD))["t", "s"]
    normed = named(va.moment(held, 2)).subs({norm_t**2: d, norm_s**2: d})
    page.text(r"""
        After a norm every row has the mean square 1, so $\lVert x_{t} \rVert^{2}$ is $d$. With
        weights of variance $a_{q}$ and $a_{k}$ the factor plays no part in a raw score:""")
    page.equation("half.normed", r"\mathrm{Var}[q_{t} \cdot k_{s}]", sympy.factor(normed))
    page.text("""
        Without a norm it does. The variance of a raw score with weights of variance 1 and no
        positions; 65520 squared is 4.3e9:""")
    free = scores(projected("Q", a_q, TOKENS), projected("K", a_k, TOKENS))["t", "s"]
    rule = va.variance(free).subs({a_q: 1, a_k: 1})
    page.table("half.scaling", RULE, scaling_rows(rule))
    page.text(r"""
        **Scale the query, or the logits.** If the logit scale $\lambda$ multiplies the query,
        the product never exceeds a logit; if it comes afterwards, the raw score must stay finite
        first, $1/\lambda$ times as large. Scaling the query costs one more rounding, unless
        $\lambda$ is a power of two: then no digit is lost short of subnormals. In `float16`,
        for queries of variance 1, the noise that it adds relative to the mean square, and how
        the rounded scale multiplies the variance of all logits:""")
    header = ["d_head", "scale", "noise added", "variance times"]
    page.table("half.query", header, [_query_row(width) for width in SCALED])


def _query_row(width: int) -> list[str]:
    fields = {**UNIT, "query": "normal(std=1/sqrt(d_model))"}
    scaling = precision(d_head=width, norm="rmsnorm(eps=0)", **fields).query_scaling
    noise = f"{scaling.added_noise_ratio:.4g}"
    return [str(width), f"{scaling.multiplier:.8g}", noise, f"{scaling.variance_factor:.6f}"]


def _exceptions(page: Page) -> None:
    page.section("Where it stops holding")
    page.text("""
        **"With d_model 4096 the factor overflows."** A table of std 1 times 64 has the std 64,
        and 65520 is 1,024 of those away: the largest of all entries has six. What overflows is a
        raw score with weights of variance 1, here after a norm:""")
    header = ["d_model", "d_head", "65520 / sqrt(d_model)", "a raw score", "a logit"]
    page.table("half.widths", header, [_width_row(*sizes) for sizes in WIDTHS])
    page.text("""
        **Sums in the format itself.** Where a score is accumulated in half precision, partial
        sums round too, and one of them overflows more often than the score does: at most twice
        as often (Lévy's inequality, the terms being symmetric). Most hardware accumulates in
        single precision.

        **One rounding after another.** A query from rows that were rounded carries their noise
        as well; with independent errors the ratios add, to first order. A rounded query times
        a rounded scale lies on a lattice, which changes the noise that scaling adds by some eps
        of itself, and by more for a scale of few digits, such as 3.

        **Weights that are not normal** make a query only nearly normal given its row; the
        methods that `varprop.precision` prints say by how much a far tail is off.""")


def _width_row(width: int, head: int) -> list[str]:
    sizes: dict[str, Any] = {"d_model": width, "d_head": head, "n_heads": 1}
    found = precision(**sizes, **UNIT, norm="rmsnorm(eps=0)")
    tails = (found[stage].overflow_probability for stage in ("scores", "logits"))
    return [
        f"{width:,}",
        str(head),
        f"{format_named('float16').overflow / width**0.5:,.0f}",
        *(f"{tail:.4g}" for tail in tails),
    ]
