"""A picture of a prediction; needs the ``plot`` extra (matplotlib)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from varprop.predict import Prediction


def plot(prediction: Prediction) -> Any:
    """Draw the std of every stage, pooled and over draws at a fixed place, on a logarithmic axis.

    Returns: a matplotlib Figure; a stage of unknown or zero std has no point.

    Raises:
        ValueError: the prediction holds arrays.
    """
    from matplotlib.figure import Figure

    if prediction.spec.has_arrays:
        raise ValueError("plot: the spec holds arrays; accepted: a spec of single numbers")
    stages = list(prediction)
    figure = Figure(figsize=(8, 0.4 * len(stages) + 1.2), layout="constrained")
    axes = figure.subplots()
    for label, marker, attribute in (
        ("pooled", "o", "variance"),
        ("over draws", "x", "ensemble_variance"),
    ):
        values = [getattr(prediction[stage], attribute) for stage in stages]
        points = [(v**0.5, place) for place, v in enumerate(values) if v]
        axes.plot(*zip(*points, strict=True), marker, label=label)
    axes.set(xscale="log", xlabel="standard deviation", yticks=range(len(stages)))
    axes.set_yticklabels(stages)
    axes.invert_yaxis()
    axes.grid(alpha=0.3)
    axes.legend()
    return figure
