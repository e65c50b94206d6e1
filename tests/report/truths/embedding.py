"""The truths of the page on the embedding."""

from ..laws import average, variance
from .definitions import table
from .registry import ENTRY, WIDTHS, equation, size


@equation("embedding.variance", r"\mathrm{Var}[x_{ti}]", ENTRY)
def _(o):
    return variance(lambda E: o.c * E[:, 0, 0], E=table(o, 1))


@equation("embedding.fourth", r"\mathbb{E}[x_{ti}^{4}]", ENTRY)
def _(o):
    return average(lambda E: (o.c * E[:, 0, 0]) ** 4, E=table(o, 1))


def norms(o):
    return lambda E: ((o.c * E) ** 2).sum((1, 2))


@equation("embedding.norm", r"\mathbb{E} \lVert x_{t} \rVert^{2}", WIDTHS)
def _(o):
    return average(norms(o), E=table(o, 1))


@equation("embedding.norm_variance", r"\mathrm{Var} \lVert x_{t} \rVert^{2}", WIDTHS)
def _(o):
    return variance(norms(o), E=table(o, 1))


@equation("embedding.inner", r"\mathrm{Var}[x_{t} \cdot x_{s}]", [size(d) for d in (1, 2, 3, 4)])
def _(o):
    return variance(lambda E: o.c**2 * (E[:, 0] * E[:, 1]).sum(1), E=table(o, 2))


@equation(
    "embedding.fluctuation",
    r"\frac{\mathrm{Var} \lVert x_{t} \rVert^{2}}"
    r"{\left(\mathbb{E} \lVert x_{t} \rVert^{2}\right)^{2}}",
    WIDTHS,
)
def _(o):
    return variance(norms(o), E=table(o, 1)) / average(norms(o), E=table(o, 1)) ** 2


@equation("embedding.second_moment", r"\mathbb{E}[x_{ti}^{2}]", ENTRY)
def _(o):
    return average(lambda E: (o.c * E[:, 0, 0]) ** 2, E=table(o, 1, mean=o.mu))


@equation("embedding.cross", r"\mathbb{E}[x_{ti} x_{si}]", ENTRY)
def _(o):
    return average(lambda E: o.c**2 * E[:, 0, 0] * E[:, 1, 0], E=table(o, 2, mean=o.mu))


@equation("embedding.repeat", r"\mathbb{E}[x_{ti} x_{si}]", ENTRY)
def _(o):
    def shared(E):
        other = o.rho * E[:, 0, 0] + (1 - o.rho) * E[:, 1, 0]
        return o.c**2 * E[:, 0, 0] * other

    return average(shared, E=table(o, 2))


SEQUENCES = [size(1, n=1), size(1, n=4), size(2, n=3), size(3, n=2)]


@equation("embedding.sample", r"\mathbb{E}[\bar{x}^{2}]", SEQUENCES)
def _(o):
    return average(lambda E: (o.c * E).mean((1, 2)) ** 2, E=table(o, o.n))


@equation("embedding.sample_variance", r"\mathbb{E}\left[(x_{ti} - \bar{x})^{2}\right]", SEQUENCES)
def _(o):
    return average(lambda E: (o.c * E).var((1, 2)), E=table(o, o.n))
