"""The tables on the pages of softmax, output head and norms, by quadratures of other kinds."""

import math
from types import SimpleNamespace

import numpy as np
import pytest

import varprop
from varprop.report.pages import output_numbers

from .conftest import PAGES
from .formulas import evaluate
from .markdown import tables
from .rows import largest_integrands

TABLES = {table.name: table for page in PAGES.values() for table in tables(page)}


def cells(name):
    return TABLES[name].rows


def printed(cell: str, known: float, figures: int) -> None:
    """A number as printed with this many significant figures."""
    value = float(cell.replace(",", ""))
    assert abs(value - known) <= 0.51 * 10.0 ** (math.floor(math.log10(abs(known))) + 1 - figures)


def row(n: int, v: float) -> dict[str, float]:
    """The softmax of n independent N(0, v) logits by sums over a fine grid in log t and l."""
    step = min(0.1, 0.1 * math.sqrt(v))
    l = np.arange(-9 * math.sqrt(v), 9 * math.sqrt(v), step)
    chances = np.exp(-(l**2) / (2 * v)) * step / math.sqrt(2 * math.pi * v)
    low = -math.log(n) - 42 - 9 * math.sqrt(v)
    u = np.arange(low, 9 * math.sqrt(v) + 6, 0.125)
    means = np.empty((7, u.size))
    for i, one in enumerate(u):
        x = one + l
        t = np.exp(np.minimum(x, 7))
        decay = np.exp(-t)
        powers = [chances @ (t**k * decay) for k in range(5)]
        means[:, i] = [
            *powers,
            chances @ -np.expm1(-t),
            -chances @ ((np.euler_gamma + x) * t * decay),
        ]
    _, _, second, third, fourth, small, entropy = means
    log_phi = np.log1p(-np.minimum(small, 1 - 1e-16))
    rest, pair = np.exp((n - 1) * log_phi), np.exp((n - 2) * log_phi)
    total = 0.125 * np.sum(np.exp(-np.exp(u)) - np.exp(n * log_phi))
    squares = 0.125 * n * (rest @ second)
    jacobian = 0.125 * n * (rest @ (second - third + fourth / 6))
    jacobian += 0.125 * n * (n - 1) / 6 * (pair @ second**2)
    entropy = 0.125 * n * (rest @ entropy)
    return {
        "logsumexp_excess": total - math.log(n),
        "entropy": entropy,
        "entropy_deficit": math.log(n) - entropy,
        "sum_squares": squares,
        "jacobian_squared_norm": jacobian,
    }


def largest(n: int, v: float) -> float:
    o = SimpleNamespace(n=n, v=v)
    largest_integrands(o)
    inner = o.f * np.exp(o.l - o.t * np.exp(o.l)) * o.psi ** (n - 1)
    return n * float((o.w_t * o.w_l * inner).sum())


def test_softmax_of_independent_logits():
    for keys, variance, quantity, predicted, *_ in cells("softmax.iid"):
        n, v = int(keys.replace(",", "")), float(variance)
        known = largest(n, v) if quantity == "max_weight" else row(n, v)[quantity]
        printed(predicted, known, 5)


def test_the_plug_in():
    known = row(32, 4.0)
    for _, quantity, _, plugged, *_ in cells("softmax.mixture"):
        printed(plugged, known[quantity], 5)


def test_softmax_under_each_rule():
    scales = {"1": 1, "1/sqrt(d_head)": 1 / 8, "1/d_head": 1 / 64}
    factors = {"1": 1, "sqrt(d_model)": 512**0.5, "1/sqrt(d_model)": 512**-0.5}
    for factor, std, scale, variance, entropy, keys, most, jacobian in cells("softmax.rules"):
        spread = factors[factor.strip("`")] * factors[std.strip("`")]
        v = 64 * spread**4 * scales[scale.strip("`")] ** 2
        printed(variance, v, 4)
        if 1e-3 < v < 1e4:
            known = row(128, v)
            printed(entropy, known["entropy"], 4)
            printed(keys, 1 / known["sum_squares"], 4)
            printed(jacobian, known["jacobian_squared_norm"], 4)
            printed(most, largest(128, v), 4) if 1 < v < 10 else None
        elif v < 1e-3:  # the expansion for narrow logits, and for the largest of them
            printed(entropy, math.log(128) - v / 2 * 127 / 128, 4)
            printed(keys, 128 / (1 + v * 127 / 128), 4)
            printed(jacobian, 127 / 128**2, 3)
        else:  # two keys that nearly tie
            tied = largest_normal(128) / math.sqrt(v)
            expected = [math.pi**2 / 6 * tied, math.log(2) * tied, tied / 3, tied]
            found = [float(entropy), 1 - float(most), float(jacobian), 1 - 1 / float(keys)]
            rounded = [1e-6, 5e-5, 1e-6, 5e-4]  # and three-way ties, of relative order 1 / std
            for one, known, rounding in zip(found, expected, rounded, strict=True):
                assert abs(one - known) <= rounding + 2 / math.sqrt(v) * known


def largest_normal(n: int) -> float:
    from scipy.special import ndtr

    z = np.arange(-10, 10, 0.01)
    return float((z * np.diff(np.append(ndtr(z) ** n, 1.0))).sum() + 0.005)


def test_the_transition():
    size = math.log(50_257)
    for variance, loss, half, frozen, squares in cells("output.transition"):
        v = 2 * size if variance == "21.65" else float(variance)
        known = row(50_257, v)
        printed(loss, size + known["logsumexp_excess"], 5)
        printed(half, size + v / 2, 5)
        printed(frozen, math.sqrt(2 * v * size), 5)
        printed(squares, known["sum_squares"], 5)


def chi_mean(d: int) -> float:
    """The mean of a chi variable by a sum over its density."""
    r = np.linspace(1e-6, math.sqrt(d) + 12, 200_001)
    log_density = (d - 1) * np.log(r) - r**2 / 2
    density = np.exp(log_density - log_density.max())
    return float(density @ r / density.sum())


def cut_variance(cut: float) -> float:
    z = np.linspace(-cut, cut, 200_001)
    density = np.exp(-(z**2) / 2)
    return float(density @ z**2 / density.sum())


def entry_variance(drawn: str, d: int) -> float:
    if drawn.startswith("truncated"):
        return cut_variance(3) / d
    std = drawn.removeprefix("normal(std=").removesuffix(")")
    return 1 / d if std == "1/sqrt(d_model)" else float(std) ** 2


def test_models():
    for (name, *rest), model in zip(cells("output.models"), output_numbers.MODELS, strict=True):
        d, size = int(rest[0]), int(rest[1].replace(",", ""))
        drawn, factor = rest[2].strip("`"), rest[3].strip("`")
        assert (name, d, size, drawn, factor) == model
        scale = evaluate_scale(factor, d)
        v = scale**2 * d * entry_variance(drawn, d)
        printed(rest[4], v, 5)
        printed(rest[5], math.log(size) + v / 2, len(rest[5].replace(".", "")))
        printed(rest[6], math.log(size) + row(size, v)["logsumexp_excess"], len(rest[6]) - 1)
        own = math.sqrt(v) * chi_mean(d)
        assert abs(float(rest[7]) - own) <= 0.0051 + (1e-4 * own if "cut" in name else 0)


def evaluate_scale(factor: str, d: int) -> float:
    top, _, bottom = factor.partition("/")
    return float(top) / (math.sqrt(d) if "sqrt" in bottom else float(bottom or 1))


def test_output_under_each_rule():
    for label, *forms in cells("output.rules"):
        for std, cell in zip(("1", "1/sqrt(d_model)"), forms, strict=True):
            for d in (16, 64):
                p = varprop.predict(
                    d_model=d,
                    output_head=f"normal(std={std})",
                    output_scale=label.strip("`"),
                    norm="rmsnorm(eps=0)",
                )
                value, _ = evaluate(cell.strip("$"), {"d": d})
                assert value == pytest.approx(p["output_logits"].variance, rel=1e-12)


def test_losses_of_whole_heads():
    """The own logit by the density of a chi variable, and a softmax that it dominates."""
    for _, d, size, drawn, factor, quantity, predicted, simple, *_ in cells("output.simulated"):
        d, size = int(d.replace(",", "")), int(size.replace(",", ""))
        drawn = drawn.strip("`")
        v = evaluate_scale(factor, d) ** 2 * d * entry_variance(drawn, d)
        printed(simple, math.log(size) + v / 2, 5)
        own = math.sqrt(v) * chi_mean(d)
        if quantity == "loss":
            printed(predicted, math.log(size) + row(size, v)["logsumexp_excess"], 5)
        elif quantity == "other_token":
            beside = math.log1p(math.exp(math.log(size) + v / 2 - own)) if own < 300 else 0
            assert abs(float(predicted) - own - beside) <= 2e-4 * own
        else:
            assert float(predicted) <= 2 * math.exp(min(0, math.log(size) + 2 * v - own)) + 1e-12


def ratio_mean(degrees: int, d: int, std: float, eps: float, power: int) -> float:
    """E r^power by a sum over the density of a chi-square variable."""
    r = np.linspace(1e-9, math.sqrt(degrees) + 12, 400_001)
    log_density = (degrees - 1) * np.log(r) - r**2 / 2
    density = np.exp(log_density - log_density.max())
    v = std**2 * r**2 / d
    return float(density @ (v / (v + eps)) ** power / density.sum())


def test_what_eps_takes():
    stds = {"1": 1.0, "1/sqrt(d_model)": 512**-0.5, "0.02": 0.02, "0.01": 0.01}
    for label, *lost in cells("norm.rules"):
        std = stds[label.strip("`")]
        for cell, (degrees, eps) in zip(
            lost, ((511, 1e-5), (512, 1e-6), (511, 1e-12)), strict=True
        ):
            scaled = max(eps, 1e-8)  # the loss is proportional to an eps this small
            part = 1 - ratio_mean(degrees, 512, std, scaled, 1)
            tolerance = 0.006 if eps == scaled else 0.03
            assert float(cell.removesuffix(" %")) == pytest.approx(
                100 * part * eps / scaled, rel=tolerance
            )


def test_layernorm_of_normal_rows():
    for width, std, eps, quantity, predicted, plugged, *_ in cells("norm.layernorm"):
        d, std, eps = int(width), float(std), float(eps)
        power = 1 if quantity == "mean_square" else 2
        sphere = 3 * (d - 1) / (d + 1) if quantity == "fourth_moment" else 1
        printed(predicted, sphere * ratio_mean(d - 1, d, std, eps, power), 5)
        v = std**2 * (d - 1) / d
        printed(plugged, sphere * (v / (v + eps)) ** power, 5)
