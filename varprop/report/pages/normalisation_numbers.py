"""Tables of the page on normalisation: rules and simulations."""

from __future__ import annotations

from varprop.normalisation.chi_square import ratio_mean
from varprop.report import simulations
from varprop.report.comparisons import Comparison
from varprop.report.page import Page

WIDTH = 512
SPREADS = (("1", 1.0), ("1/sqrt(d_model)", WIDTH**-0.5), ("0.02", 0.02), ("0.01", 0.01))
NORMS = ((WIDTH - 1, 1e-5), (WIDTH, 1e-6), (WIDTH - 1, 1e-12))


def mean_power(degrees: int, width: int, std: float, eps: float, power: int) -> float:
    """E r^power of a central row."""
    return float(ratio_mean(degrees, std**2 / width, 0.0, eps, power, power))


def lost_part(degrees: int, width: int, std: float, eps: float) -> float:
    """1 - E r, without cancellation."""
    return eps * float(ratio_mean(degrees, std**2 / width, 0.0, eps, 0, 1))


def rules(page: Page) -> None:
    """Write the section on the scaling rules."""
    page.section("Under each rule")
    page.text(r"""
        What part of the mean square is lost, $1 - \mathbb{E} r$, for a row of width 512 whose
        entries have the std of the first column (the factor times the table's std, if nothing
        is added), under three norms as they are used:""")
    header = ["std", "`layernorm(eps=1e-5)`", "`rmsnorm(eps=1e-6)`", "`layernorm(eps=1e-12)`"]
    rows = []
    for name, std in SPREADS:
        lost = [lost_part(degrees, WIDTH, std, eps) for degrees, eps in NORMS]
        rows.append([f"`{name}`", *(f"{100 * part:.3g} %" for part in lost)])
    page.table("norm.rules", header, rows)
    page.text("""
        GPT-2's std of 0.02 has a variance of 4e-4, only forty times its `eps`: one fortieth of
        the mean square is lost. The factor `sqrt(d_model)` before a norm takes the loss away,
        and does nothing else.""")


QUANTITIES = ("mean_square", "mean_square_product", "fourth_moment")


def _exact(width: int, std: float, eps: float) -> dict[str, float]:
    mean, square = (mean_power(width - 1, width, std, eps, power) for power in (1, 2))
    return _moments(width, mean, square)


def _plugged_in(width: int, std: float, eps: float) -> dict[str, float]:
    variance = std**2 * (width - 1) / width
    mean = variance / (variance + eps)
    return _moments(width, mean, mean**2)


def _moments(width: int, mean: float, square: float) -> dict[str, float]:
    sphere = 3 * (width - 1) / (width + 1)
    return dict(zip(QUANTITIES, (mean, square, sphere * square), strict=True))


COMPARISONS = (
    Comparison(
        "norm.layernorm",
        """
        LayerNorm of normal rows, of GPT-2's first and then of ever smaller width with an `eps`
        as large as the variance: the means of $r$, of $r^{2}$ and of the fourth power of an
        entry, beside the plug-in $m / (m + \\varepsilon)$ and its square on the same sphere.
        About 200,000 rows each:""",
        ("d_model", "std", "eps"),
        ((768, 0.02, 1e-5), (64, 0.02, 4e-4), (8, 0.02, 4e-4), (3, 0.02, 4e-4), (3, 0.02, 1e-5)),
        QUANTITIES,
        {"predicted": _exact, "plug-in": _plugged_in},
        simulations.normed_rows,
    ),
)
