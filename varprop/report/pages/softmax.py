"""The page on the softmax over a row of Gaussian logits."""

from __future__ import annotations

import sympy

from varprop.report.laplace import (
    density,
    entropy_kernel,
    l,
    logsumexp,
    m,
    over_t,
    phi,
    power_mean,
    psi,
    t,
    v,
)
from varprop.report.notation import n
from varprop.report.page import Page
from varprop.report.pages import softmax_limits, softmax_rows
from varprop.report.pages.softmax_limits import ENTROPY, JACOBIAN, SQUARES

F, Q = sympy.symbols("F Q", positive=True)


def build() -> Page:
    """Derive and write the page."""
    page = Page("The softmax over a row of Gaussian logits")
    page.section("Setting")
    page.text(r"""
        A row has $n$ logits $\ell_{1}, \dots, \ell_{n}$, independent and normal with mean 0 and
        one variance $v$. Its softmax has the weights $p_{j} := e^{\ell_{j}} / Z$ with
        $Z := \sum_{j} e^{\ell_{j}}$; an amount that all logits share drops out. Wanted are the
        means of $\log Z$, of the entropy, of $\sum_{j} p_{j}^{2}$ (whose inverse is an effective
        number of keys), of the largest weight and of the squared norm of the Jacobian
        $J_{ij} := \partial p_{i} / \partial \ell_{j}$, at every $n$ and $v$. No large $n$ and no
        small $v$ is assumed. Which rows of a Transformer are of this kind, and with which $v$,
        comes at the end. Throughout,

        $$m_{k}(t) := t^{k} \mathbb{E}[e^{k \ell} e^{-t e^{\ell}}], \qquad \phi := m_{0}$$

        are means over one logit $\ell$ for a number $t$, which is left out under the integrals
        (only as an index is $t$ a position).""")
    _weights(page)
    _logarithm(page)
    _rest(page)
    softmax_limits.rules(page)
    softmax_limits.limits(page)
    softmax_rows.transformer(page)
    return page


def _weights(page: Page) -> None:
    page.section("A sum in the denominator")
    page.text(r"""
        A sum in the denominator keeps independent terms from being averaged one by one; in an
        exponent it does not. So write powers of $1/Z$ as integrals:
        $\int_{0}^{\infty} t^{a} e^{-tZ} dt/t$ is $\Gamma(a) Z^{-a}$. The integrand is positive,
        so the mean may be taken inside (Tonelli), where it is a product over the keys: each key
        that has a power $k$ gives $m_{k}$, each other key $\phi$. For a single first power this
        must give 1, and does, because $t \phi'$ is $-m_{1}$ and the integrand the derivative of
        $-\phi^{n}$:""")
    page.equation("softmax.sum", r"\mathbb{E} \sum_{j} p_{j}", power_mean(n, 1), sympy.Integer(1))
    page.equation("softmax.squares", SQUARES, power_mean(n, 2))
    page.equation("softmax.cubes", r"\mathbb{E} \sum_{j} p_{j}^{3}", power_mean(n, 3))
    page.text(r"""
        In the square of $\sum_{j} p_{j}^{2}$ a key meets itself or another one; there are
        $n (n - 1)$ ordered pairs of different keys:""")
    both = power_mean(n, 4) + power_mean(n, 2, 2)
    page.equation("softmax.square", r"\mathbb{E} \left(\sum_{j} p_{j}^{2}\right)^{2}", both)
    page.text(r"""
        The Jacobian is $\mathrm{diag}(p) - p p^{\top}$, of squared norm
        $\sum_{j} p_{j}^{2} - 2 \sum_{j} p_{j}^{3} + \left(\sum_{j} p_{j}^{2}\right)^{2}$:""")
    single = sympy.expand(m[2] - m[3] + m[4] / 6) * phi ** (n - 1) / t
    page.equation("softmax.jacobian", JACOBIAN, n * over_t(single) + power_mean(n, 2, 2))


def _logarithm(page: Page) -> None:
    page.section("The logarithm, and what its derivative knows")
    page.text(r"""
        For a logarithm the integral is Frullani's: $\int_{0}^{\infty} (e^{-t} - e^{-tZ}) dt/t$ is
        $\log Z$. Let $F$ be its mean; the difference has one sign for each $Z$, and both parts
        of $\log Z$, above and below 0, have finite means, so the order may again be changed:""")
    page.equation("softmax.logsumexp", r"\mathbb{E} \log Z", logsumexp(n))
    page.text(r"""
        For normal logits the derivative in $v$ is half the mean Laplacian (write $\ell_{j}$ as
        $\sqrt{v} z_{j}$, differentiate, integrate by parts: Stein). For one key's
        $e^{-t e^{\ell}}$ that is""")
    page.equation("softmax.heat", r"\frac{\partial \phi}{\partial v}", (m[2] - m[1]) / 2)
    page.text(r"""
        The first derivatives of $\log Z$ are the weights, the second on the diagonal are
        $p_{j} - p_{j}^{2}$, and the weights add to 1. So the mean of $\log Z$ as a function of
        $v$ holds the effective number of keys, and the two integrals agree:""")
    page.equation("softmax.stein", r"1 - 2 \frac{dF}{dv}", power_mean(n, 2))
    page.text(r"""
        Since $0 \le \sum_{j} p_{j}^{2} \le 1$, $F$ grows with $v$ by at most one half for each
        unit.""")


def _rest(page: Page) -> None:
    page.section("Entropy and largest weight")
    page.text(r"""
        The entropy is $\log Z - \sum_{j} p_{j} \ell_{j}$. Stein's identity turns the mean of
        $\ell_{j} p_{j}$ into $v$ times that of $p_{j} - p_{j}^{2}$. With
        $Q := \mathbb{E} \sum_{j} p_{j}^{2}$ the result is a difference, of numbers of size $v$
        where the entropy is small; the second form has none. It uses
        $\int_{0}^{\infty} \log(t) e^{-tZ} dt$, which is $-(\gamma + \log Z)/Z$ with Euler's
        constant $\gamma$, and the kernel $g := -\mathbb{E}[(\gamma + x) e^{x - e^{x}}]$ with
        $x := \log t + \ell$:""")
    page.equation(
        "softmax.entropy",
        ENTROPY,
        F - v * (1 - Q),
        n * over_t(entropy_kernel * phi ** (n - 1) / t),
    )
    page.text(r"""
        The largest weight belongs to each key equally often. If it is that of the key with the
        logit $l$, all others are below $l$. With the density $f$ of a logit at $l$ and
        $\psi := \mathbb{E}[e^{-t e^{\ell}}; \ell \le l]$ the same steps give a double integral:""")
    inner = density * sympy.exp(l - t * sympy.exp(l)) * psi ** (n - 1)
    double = sympy.Integral(inner, (l, -sympy.oo, sympy.oo), (t, 0, sympy.oo))
    page.equation("softmax.largest", r"\mathbb{E} \max_{j} p_{j}", n * double)
