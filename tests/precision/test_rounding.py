"""Mean squares of rounding against every cell of the data types, and against rounded draws."""

import math
import time

import ml_dtypes
import numpy as np
import pytest
from scipy import stats

import varprop
from varprop.precision.cells import Mixture, Normal
from varprop.precision.formats import FORMATS, format_named
from varprop.precision.laws import Shifted, log_normal_interval
from varprop.precision.mixtures import Length, Product, Sphere
from varprop.precision.rounding import rounding_variance, second_moment, stretches

TYPES = {name: np.dtype(getattr(ml_dtypes, name, np.float16)) for name in FORMATS}


def finite_numbers(name):
    kind = TYPES[name]
    bits = np.arange(2 ** (8 * kind.itemsize), dtype=f"u{kind.itemsize}").view(kind)
    with np.errstate(invalid="ignore"):
        numbers = np.unique(bits.astype(np.float64))
    return numbers[np.isfinite(numbers)]


def reference(name, density, low, high, scale):
    """Over the cell of every number, cut to [low, high], in pieces no longer than the scale."""
    numbers, end = finite_numbers(name), format_named(name).overflow
    middles = np.concatenate([[-end], (numbers[1:] + numbers[:-1]) / 2, [end]])
    edges = np.unique(np.clip(np.concatenate([numbers, middles]), low, high))
    even = low + scale * np.arange(int((high - low) / scale) + 1)
    edges = np.unique(np.concatenate([edges, even, [high]]).clip(-end, end))
    nodes, weights = np.polynomial.legendre.leggauss(10)
    half, middle = np.diff(edges)[:, None] / 2, (edges[1:] + edges[:-1])[:, None] / 2
    x = middle + half * nodes
    cell = np.searchsorted(middles, middle.ravel())[:, None] - 1
    chances = density(x) * half * weights
    return (np.square(x - numbers[cell]) * chances).sum() / chances.sum()


NORMALS = {
    "unit": (0.0, 1.0),
    "half a step": (1.0, 2.0**-11),
    "a step of bfloat16": (-1.7, 2.0**-7),
    "a step of float8": (1.3, 0.06),
    "around a power of two": (2.0, 0.02),
    "subnormal in float16": (1e-6, 3e-7),
    "small": (0.0, 0.002),
    "partly infinite in float16": (0.0, 4e4),
    "partly nan in float8": (300.0, 120.0),
}


@pytest.mark.parametrize("name", FORMATS)
@pytest.mark.parametrize("case", NORMALS)
def test_normal_tables(name, case):
    mean, std = NORMALS[case]
    form = format_named(name)
    found = varprop.precision(embedding=f"normal({mean!r}, {std!r})", dtype=name)["embedding"]
    law = stats.norm(mean, std)
    if (found.overflow_probability or 0) > 1 - 1e-9:
        assert found.rounding_variance is None
        return
    known = reference(name, law.pdf, mean - 9 * std, mean + 9 * std, std)
    assert form.overflow > 0
    assert found.rounding_variance == pytest.approx(known, rel=2e-7)
    assert found.rounding_noise_ratio == found.rounding_variance / (mean**2 + std**2)


@pytest.mark.parametrize("name", FORMATS)
@pytest.mark.parametrize(
    ("text", "law", "scale"),
    [
        ("uniform(-0.3, 1.7)", stats.uniform(-0.3, 2), 1),
        ("uniform(1, 1.0001)", stats.uniform(1, 1e-4), 1),
        ("truncated_normal(std=0.3, low=-0.5, high=1)", stats.truncnorm(-5 / 3, 10 / 3, 0, 0.3), 1),
        ("truncated_normal(std=0.1, low=1, high=2)", stats.truncnorm(10, 20, 0, 0.1), 0.1),
        ("truncated_normal(std=1, low=-13, high=-12)", stats.truncnorm(-13, -12), 0.1),
        (
            "truncated_normal(std=0.02, variance_preserving=True)",
            stats.truncnorm(-2, 2, 0, 0.02 / stats.truncnorm(-2, 2).std()),
            1,
        ),
    ],
)
def test_tables_with_ends(name, text, law, scale):
    found = varprop.precision(embedding=text, dtype=name)["embedding"]
    known = reference(name, law.pdf, *law.support(), scale * law.std())
    assert found.rounding_variance == pytest.approx(known, rel=2e-7)
    assert found.rounding_noise_ratio == pytest.approx(known / law.moment(2), rel=1e-6)


@pytest.mark.parametrize("name", FORMATS)
def test_products(name):
    """Two channels make a Laplace law."""
    law = Product(4.0, (Length(1.0, 2),))
    known = reference(name, stats.laplace(0, 2).pdf, -90.0, 90.0, 2.0)
    assert rounding_variance(law, format_named(name)) == pytest.approx(known, rel=2e-7)
    assert second_moment(law) == pytest.approx(8, rel=1e-9)


@pytest.mark.parametrize("name", FORMATS)
@pytest.mark.parametrize("dimensions", [3, 5, 64])
def test_points_on_a_sphere(name, dimensions):
    radius = math.sqrt(dimensions + 0.3)
    law = stats.beta((dimensions - 1) / 2, (dimensions - 1) / 2, -radius, 2 * radius)
    known = reference(name, law.pdf, -radius, radius, 1.0)
    found = rounding_variance(Sphere(radius, dimensions), format_named(name))
    assert found == pytest.approx(known, rel=2e-7)


def test_a_circle():
    """radius * sin of an even angle; its density is infinite at the ends."""
    angles = (np.arange(2**20) + 0.5) * math.pi / 2**20 / 2
    x = 1.9 * np.sin(angles)
    known = np.square(x.astype(TYPES["float8_e5m2"]).astype(float) - x).mean()
    found = rounding_variance(Sphere(1.9, 2), format_named("float8_e5m2"))
    assert found == pytest.approx(known, rel=1e-5)


@pytest.mark.parametrize("name", FORMATS)
@pytest.mark.parametrize("std", [1.0, 0.05, 1e-3, 1e-5])
def test_a_grid_stands_for_many_centres(name, std):
    """The waves of a sinusoidal encoding, each with a normal number around it."""
    fixed = np.sin(np.linspace(0, 300, 50_000))
    form = format_named(name)
    found = rounding_variance(Shifted(log_normal_interval, 0.2, std, fixed), form)
    one, count = np.ones(fixed.size), fixed.size
    law = Mixture(Normal(), 0.2 + fixed, std * one, one / count)
    known = sum(
        law.distance(low, high, step) + law.distance(-high, -low, step)
        for low, high, step in stretches(form)
        if high > 1e-5 and low < 12
    )
    assert found == pytest.approx(known, rel=1e-7)


@pytest.mark.parametrize("name", FORMATS)
def test_constants_are_rounded_as_they_are(name):
    form = format_named(name)
    for value in (0.0, 1.0, 1.03, 3e-5, -7.7, 1e-12):
        found = varprop.precision(embedding=f"constant({value!r})", dtype=name)["embedding"]
        known = (form.rounded(value) - value) ** 2
        assert found.rounding_variance == pytest.approx(known, rel=1e-15, abs=0)
    position = varprop.precision(dtype=name, d_model=64, seq_len=50)["position"]
    table = np.array([form.rounded(float(x)) for x in position._law.entry.fixed])
    known = np.square(table - position._law.entry.fixed).mean()
    assert position.rounding_variance == pytest.approx(known, rel=1e-13)


@pytest.mark.parametrize("name", ["float16", "float8_e4m3fn"])
@pytest.mark.parametrize(
    "fields", [{}, {"embedding": "uniform(-0.1, 0.1)"}, {"embedding": "normal(std=4e-3)"}]
)
def test_stages_agree_with_rounded_draws(name, fields):
    fields = {"d_model": 16, "n_heads": 2, "d_head": 4, "seq_len": 6, **fields}
    gaussian = {"query": "normal(std=0.25)", "key": "normal(std=0.5)"}
    spec = varprop.TransformerSpec(**fields | gaussian)
    found, rng, count = varprop.precision(spec, name), np.random.default_rng(4), 6000
    k = np.arange(16) // 2
    turns = np.arange(6)[:, None] * 10000.0 ** (-2 * k / 16)
    table = np.where(np.arange(16) % 2, np.cos(turns), np.sin(turns))
    x = spec.distribution("embedding").sample(rng, (count, 6, 16)) * spec.embedding_scale + table
    q, key = (
        x @ spec.distribution(field).sample(rng, (count, 16, 4)) for field in ("query", "key")
    )
    scores = (q @ key.swapaxes(1, 2))[:, ~np.eye(6, dtype=bool)]
    drawn = {"input": x, "query": q, "scores": scores, "logits": scores * spec.logit_scale}
    for stage, values in drawn.items():
        if found[stage].rounding_variance is None:
            assert found[stage].method.startswith("not known")
            continue
        rounded = values.astype(np.float32).astype(TYPES[name]).astype(float)
        squares = np.square(rounded - values).reshape(count, -1).mean(axis=1)
        error = abs(squares.mean() - found[stage].rounding_variance)
        assert error < 5 * squares.std() / math.sqrt(count), stage


def test_nothing_is_said_of_what_does_not_stay_finite():
    found = varprop.precision(embedding="normal(mean=1e6, std=1e3)")["embedding"]
    assert found.overflow_probability == 1
    assert found.rounding_variance is found.rounding_noise_ratio is None


def test_nothing_is_said_of_a_far_tail():
    found = varprop.precision(embedding="truncated_normal(std=1, low=20, high=21)")["embedding"]
    assert found.rounding_variance is found.rounding_noise_ratio is None
    assert found.zero_share == 0


@pytest.mark.parametrize("name", FORMATS)
@pytest.mark.parametrize("std", ["1e-150", "1e-30", "1e-8", "1e4", "1e30", "1e37"])
def test_extremes_are_finite(name, std):
    for record in varprop.precision(
        embedding=f"normal(std={std})", dtype=name, embedding_scale=1, d_model=16, n_heads=2
    ).values():
        ratio = record.rounding_noise_ratio
        if record.rounding_variance is not None:
            assert 0 <= record.rounding_variance < math.inf
            assert ratio is None or 0 <= ratio <= 1 + 1e-9


def test_it_is_quick():
    start = time.process_time()
    for record in varprop.precision(d_model=8192, n_heads=64).values():
        assert record.rounding_variance > 0
    assert time.process_time() - start < 5
