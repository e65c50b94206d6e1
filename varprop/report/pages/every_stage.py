"""The page that holds every stage's closed form in the names of the fields."""

from __future__ import annotations

from varprop.expressions import SYMBOLIC
from varprop.moments import Moments
from varprop.report.page import Page
from varprop.spec import TransformerSpec
from varprop.stages import STAGES
from varprop.stages.context import Context
from varprop.stages.symbolic import tidy

FIELDS = {"position": "learned(normal(std=sqrt(1/2)))"}


def build() -> Page:
    """Derive and write the page."""
    page = Page("Every stage at a glance")
    page.section("Setting")
    page.text(r"""
        The closed form of each stage's pooled mean square, as `prediction.formula(stage,
        "second_moment")` gives it, in the names of the integer fields. The specification is the
        default one, with positions $L$ that are learned in place of the sinusoidal encoding and
        start at the same mean square, 1/2. The input is $x_{t} := c E_{u(t)} + L_{t}$ with a
        normal table $E$ of std `1/sqrt(d_model)` and the factor `sqrt(d_model)`; Xavier
        projections are drawn independently, there are no biases, and tokens are different. All
        means are 0, so the mean square is also the variance, and the same at every place, so it
        is the variance over draws as well.""")
    page.section("The definitions and their closed forms")
    page.text("""
        Each stage is defined once for the engine and once in NumPy (`varprop/stages`); a stage that
        somebody adds there appears here by itself.""")
    context = Context(TransformerSpec(**FIELDS), SYMBOLIC)
    rows = []
    for name, stage in STAGES.items():
        if stage.present(context.spec):
            rows.append([f"`{name}`", tidy(Moments(stage, context).second_moment)])
    page.table("stages.formulas", ["stage", "mean square"], rows)
    page.section("Where it stops holding")
    page.text("""
        Another specification has other formulas: `varprop predict --formula logits.second_moment`
        with its fields prints them. The pages before this one say what each assumption is good for
        and what happens without it.""")
    return page
