"""The page on the output head and the first loss."""

from __future__ import annotations

from typing import Any

import sympy

from varprop import algebra as va
from varprop.report.laplace import logsumexp, v
from varprop.report.notation import d, kappa, n, s
from varprop.report.page import Page
from varprop.report.pages import output_numbers, output_own
from varprop.report.pages.output_own import V, b

u, F, Q, fourth = sympy.symbols("u F Q y_{4}", positive=True)


def build() -> Page:
    """Derive and write the page."""
    page = Page("The output head and the first loss")
    page.section("Setting")
    page.text(r"""
        The last hidden state goes through a norm with `eps` 0, which makes it a row $y$ of $d$
        entries with $\lVert y \rVert^{2}$ exactly $d$, whatever it was before. The head has $V$
        rows $w_{j}$ (`vocab_size`) of independent entries with mean 0, variance $s^{2}$ and
        excess kurtosis $\kappa$, and the logits are $\ell_{j} := b y \cdot w_{j}$; $b$ is the
        product of `hidden_scale` and `output_scale`, 1 in most models. The first loss is
        $\log Z - \ell_{j}$ at the target $j$, with $Z := \sum_{j} e^{\ell_{j}}$. At first $y$
        does not depend on the head; in a tied head at depth zero it does, see below.""")
    _logits(page)
    _loss(page)
    _half(page)
    output_own.own_token(page)
    output_numbers.rules(page)
    output_own.limits(page)
    page.section("Where it stops holding")
    page.text(r"""
        **Depth.** Blocks add to the row that reaches the head, $r$ falls with what they add,
        and with it the own logit, like $\sqrt{r}$; the loss of a head that is independent of
        $y$ stays. **A norm with `eps`** on small rows leaves $\lVert y \rVert^{2}$ below $d$
        ([its page](normalisation.md)); a **missing final norm** leaves it to chance, and the
        loss is the mean of $F$ over $v$. **A head with a mean** $\mu$ adds
        $b \mu \sum_{i} y_{i}$ to all logits, which drops out of the loss and not out of their
        second moment. **Sinusoidal positions** are a fixed part of $x$: $\lVert x \rVert$ is
        then a noncentral chi variable, and the own logit's mean an integral over it.
        **Uneven targets** change nothing while the head is independent of $y$; in a tied head
        the chance that a token follows itself weighs the two losses of depth zero.""")
    return page


def _logits(page: Page) -> None:
    page.section("The variance of a logit")
    page.text(r"""
        Given $y$ a product of two entries of the head leaves the pair of the same entry, and
        what is left of $y$ is its squared norm, which is known. So the variance is exact at
        every width, for every distribution of the head:""")
    row, head = va.fixed("y", (n, d)), va.iid("W", (V, d), variance=s**2, excess_kurtosis=kappa)
    logit = (b * va.einsum("ti,ji->tj", row, head))["t", "j"]
    variance = _named(va.variance(logit))
    page.equation("output.variance", r"\mathbb{E}[\ell_{j}^{2} \mid y]", variance)
    page.text(r"""
        Different rows of the head are independent, so given $y$ the logits of one position are
        independent; those of different positions are not, but a loss sees one position. The
        excess kurtosis is that of the table times $y_{4}/d^{2}$ with
        $y_{4} := \sum_{i} y_{i}^{4}$, about $3/d$ where $y$ is nearly normal:""")
    kurtosis = sympy.factor(_named(va.moment(logit, 4)) / variance**2 - 3)
    page.equation(
        "output.kurtosis",
        r"\frac{\mathbb{E}[\ell_{j}^{4} \mid y]}{\mathbb{E}[\ell_{j}^{2} \mid y]^{2}} - 3",
        kurtosis,
    )
    page.text(r"""
        For a normal head the $V$ logits are therefore exactly the row of
        [the page on the softmax](softmax.md), with a variance $v := b^{2} d s^{2}$ that is not
        random.""")


def _named(expression: Any) -> Any:
    """Put in the squared norm of y, and a symbol for the sum of its fourth powers."""
    sums = {
        total: d if total.function.as_base_exp()[1] == 2 else fourth
        for total in expression.atoms(sympy.Sum)
    }
    return expression.xreplace(sums)


def _loss(page: Page) -> None:
    page.section("The first loss")
    page.text(r"""
        The target's logit has mean 0 whatever the target, so the loss is the mean of $\log Z$,
        the same for all targets and however they are distributed. It is the function $F$ of
        the softmax page for a row of $V$:""")
    page.equation("output.loss", r"\mathbb{E}[\log Z - \ell_{j}]", logsumexp(V))
    page.text(r"""
        No training and no data are in it. It is $\log V$ for logits that are 0, and the logits'
        own spread only adds to it: an untrained model does worse than guessing.""")


def _half(page: Page) -> None:
    page.section("Where the half comes from, and where it ends")
    page.text(r"""
        By Jensen's inequality $F \le \log \mathbb{E} Z$, and $\mathbb{E} Z$ is $V e^{v/2}$:

        $$F \le \log V + \frac{v}{2}$$

        What is missing follows from $1 - 2 F'(v)$ being $Q(v)$, the mean of
        $\sum_{j} p_{j}^{2}$. The missing part is 0 at $v$ equal to 0, and grows with $v$:""")
    page.equation(
        "output.deficit",
        r"\log V + \frac{v}{2} - F",
        sympy.Integral(Q, (u, 0, v)) / 2,
    )
    page.text(r"""
        While $v$ is well below $\frac{1}{2} \log V$, both sums in $Q$ are near their means: $Q$ is
        about $e^{v}/V$ and the missing part about $(e^{v} - 1)/(2V)$, 0.00002 for 50,257 tokens
        and $v$ equal to 1.

        The half cannot go on for ever, for $\log Z$ grows like the largest logit. Let
        $v_{c} := 2 \log V$. The mean of the largest of $V$ standard normal numbers, $M$, is at
        most $\sqrt{v_{c}}$ and for large $V$ nearly that. The derivative of $F$ in the std
        $\sqrt{v}$ is the mean of $\sum_{j} p_{j} z_{j}$, so at most $M$. At $v_{c}$ the first
        bound is $2 \log V$, which is $\sqrt{v_{c}} \sqrt{2 \log V}$, and from there on

        $$F \le \sqrt{2 v \log V} \quad \text{for} \quad v \ge v_{c}$$

        From below, $F \ge M \sqrt{v}$ since $Z$ is more than its largest term. At and above
        $v_{c}$ the bounds meet to leading order in $\log V$. At $v_{c}$ the missing part is
        therefore small beside $\log V$; it grows with $v$; so it is small for every smaller $v$
        too. To leading order $F$ is $\log V + v/2$ up to $2 \log V$ and $\sqrt{2 v \log V}$
        beyond, and $Q$, by its derivative, 0 up to there and $1 - \sqrt{v_{c}/v}$ beyond: the
        transition of the random energy model. For 50,257 tokens it lies at 21.65, and is
        smooth:""")
    output_numbers.transition(page)
