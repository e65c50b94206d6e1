"""What a measurement hands out: estimates per stage and attribute.

m = varprop.measure(d_model=64, n_heads=4)
m["logits"].variance          # Estimate(value=1.72, stderr=0.013)
m.logits.row_variance.value   # attribute access does the same
print(m)                      # an aligned table, digits matched to the standard errors
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from typing import Any

from varprop.simulation.estimates import Estimate
from varprop.spec import TransformerSpec
from varprop.stages import OUTCOMES
from varprop.stages.mapping import FrontMapping

TABLE_COLUMNS = (
    "mean",
    "variance",
    "ensemble_variance",
    "row_variance",
    "cross_position_moment",
    "excess_kurtosis",
)


@dataclass(frozen=True)
class MeasuredMoments:
    """The measured attributes of one stage; None where an attribute does not apply."""

    mean: Estimate
    variance: Estimate
    second_moment: Estimate
    std: Estimate
    ensemble_variance: Estimate
    excess_kurtosis: Estimate | None = None
    cross_position_moment: Estimate | None = None
    row_variance: Estimate | None = None
    further: Mapping[str, Estimate] = field(default_factory=dict)

    def __getattr__(self, name: str) -> Estimate:
        # Private names must fail at once: copy and pickle ask for them before there is a dict.
        if not name.startswith("_") and name in self.further:
            return self.further[name]
        raise AttributeError(f"{type(self).__name__} has no attribute {name!r}")

    @property
    def attributes(self) -> tuple[str, ...]:
        """The names of all attributes, those of the stage's own included."""
        return (*(one.name for one in fields(self) if one.name != "further"), *self.further)

    def magnitude(self, attribute: str, square: float = 0.0) -> float:
        """The size of the terms that cancel in `attribute`, the third argument of `z_score`.

        `square` is the mean square that the stage would have if nothing had cancelled in it.
        """
        if attribute == "excess_kurtosis":
            return 3.0
        if attribute in self.further:  # weights, nats, and logits that they are differences of
            return max(1.0, *(abs(one.value) for one in self.further.values()))
        square = max(square, self.second_moment.value)
        return math.sqrt(square) if attribute in ("mean", "std") else square

    def to_dict(self) -> dict[str, dict[str, float | None] | None]:
        """Plain data; a standard error that could not be estimated is None."""
        return {name: _plain(getattr(self, name)) for name in self.attributes}


class Measurement(FrontMapping[MeasuredMoments]):
    """An immutable mapping of stage name to `MeasuredMoments`, with attribute access.

    It lists the stages up to the logits; the later ones are simulated when one of them is read,
    from the same seed. ``full()`` lists all.
    """

    __slots__ = ("_later", "replicates", "seed", "spec")
    _later: "Measurement | None"
    spec: TransformerSpec
    replicates: int
    seed: int

    def __init__(
        self,
        spec: TransformerSpec,
        stages: Mapping[str, MeasuredMoments],
        replicates: int,
        seed: int,
        full: bool = False,
    ) -> None:
        self._set(spec=spec, _stages=dict(stages), replicates=replicates, seed=seed)
        self._set(_full=full, _later=None)

    def __getitem__(self, name: str) -> MeasuredMoments:
        if name in OUTCOMES and not self._full:
            return self.full()[name]
        if name in OUTCOMES and name not in self._stages and OUTCOMES[name].present(self.spec):
            raise KeyError(
                f"stage {name} is not simulated at these sizes: it takes every key, or every row "
                "of the output head, in each replicate"
            )
        return super().__getitem__(name)

    def full(self) -> "Measurement":
        """The same measurement with every stage listed, those behind the logits included."""
        from varprop.simulate import measure

        if self._full:
            return self
        if self._later is None:
            self._set(
                _later=measure(self.spec, replicates=self.replicates, seed=self.seed, full=True)
            )
        assert self._later is not None
        return self._later

    def __reduce__(self) -> tuple[Any, ...]:
        return Measurement, (self.spec, self._stages, self.replicates, self.seed, self._full)

    def __repr__(self) -> str:
        drawn = f"{self.replicates} replicates, seed {self.seed}"
        return f"<Measurement of {len(self)} stages, {drawn}>"

    def __str__(self) -> str:
        from varprop.report.text import UNKNOWN, aligned, title

        rows: list[tuple[str, ...]] = [("stage", *TABLE_COLUMNS)]
        for stage, moments in self.items():
            cells = (getattr(moments, column) for column in TABLE_COLUMNS)
            rows.append((stage, *(UNKNOWN if cell is None else str(cell) for cell in cells)))
        body = aligned(rows, labels=1, headings=1)
        drawn = f"{self.replicates} replicates, seed {self.seed}"
        return "\n".join((title("Measurement", self.spec), "", *body, "", drawn))

    def to_dict(self) -> dict[str, Any]:
        """Plain JSON-ready data: spec, replicates, seed, and every stage's estimates."""
        return {
            "spec": self.spec.to_dict(),
            "replicates": self.replicates,
            "seed": self.seed,
            "stages": {stage: moments.to_dict() for stage, moments in self.items()},
        }


def _plain(estimate: Estimate | None) -> dict[str, float | None] | None:
    if estimate is None:
        return None
    stderr = estimate.stderr if math.isfinite(estimate.stderr) else None
    return {"value": estimate.value, "stderr": stderr}
