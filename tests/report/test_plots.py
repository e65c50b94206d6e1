"""The picture of a prediction shows its numbers."""

import numpy as np
import pytest

import varprop
from varprop.report.plots import plot


def test_points_are_the_standard_deviations(tmp_path):
    p = varprop.predict(d_model=16, n_heads=2, seq_len=4)
    figure = plot(p)
    figure.savefig(tmp_path / "stages.png")
    assert (tmp_path / "stages.png").stat().st_size > 1000
    pooled, drawn = figure.axes[0].lines
    assert list(pooled.get_xdata()) == pytest.approx([p[stage].std for stage in p])
    # A sinusoidal table has nothing that is drawn: one point less
    moving = [p[stage].ensemble_variance ** 0.5 for stage in p if stage != "position"]
    assert list(drawn.get_xdata()) == pytest.approx(moving)


def test_arrays_are_refused():
    with pytest.raises(ValueError, match=r"^plot: "):
        plot(varprop.predict(seq_len=np.array([2, 3])))
