"""The check that ships: prediction against measurement."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

from varprop.moments import ATTRIBUTES
from varprop.predict import predict
from varprop.rare import too_rare
from varprop.simulate import measure
from varprop.simulation.estimates import Estimate, z_score
from varprop.simulation.measurement import Measurement
from varprop.spec import TransformerSpec

LIMIT = 5.0
"""Standard errors between prediction and measurement beyond which they disagree."""

SMALL = 0.1
"""Standard errors that a prediction may be off, as its method states, and still be judged."""


class Row(NamedTuple):
    """One attribute of one stage, predicted and measured.

    ``z`` is None where the two cannot be compared, and ``note`` says why: there is no prediction;
    its own error, which its method states, is not small beside the standard error; or rare events
    decide, of which the simulation sees too few.
    """

    stage: str
    attribute: str
    predicted: float | None
    measured: Estimate
    z: float | None
    note: str = ""

    @property
    def judged(self) -> bool:
        """Whether the row decides: kurtosis does not, since its standard error is optimistic."""
        return self.z is not None and self.attribute != "excess_kurtosis"

    @property
    def agrees(self) -> bool:
        """Whether prediction and measurement are at most LIMIT standard errors apart."""
        return self.z is not None and abs(self.z) <= LIMIT


class Check:
    """A prediction beside a measurement: a :class:`Row` for each stage and attribute."""

    def __init__(self, spec: TransformerSpec, rows: list[Row], replicates: int, seed: int) -> None:
        self.spec, self.rows, self.replicates, self.seed = spec, rows, replicates, seed

    @property
    def passed(self) -> bool:
        """Whether prediction and measurement agree in every row that is judged."""
        return all(row.agrees for row in self.rows if row.judged)

    def __iter__(self) -> Iterator[Row]:
        return iter(self.rows)

    def to_dict(self) -> dict[str, Any]:
        """Plain JSON-ready data."""
        rows = [
            {
                "stage": row.stage,
                "attribute": row.attribute,
                "predicted": row.predicted,
                "measured": row.measured.value,
                "stderr": row.measured.stderr,
                "z": row.z,
                "judged": row.judged,
            }
            for row in self.rows
        ]
        head = {"spec": self.spec.to_dict(), "replicates": self.replicates, "seed": self.seed}
        return head | {"passed": self.passed, "rows": rows}

    def __str__(self) -> str:
        from varprop.report.tables import check_table

        return check_table(self)

    def __repr__(self) -> str:
        return f"<Check of {self.spec!r}: {'passed' if self.passed else 'failed'}>"


def check(
    spec: TransformerSpec | None = None,
    /,
    *,
    replicates: int = 2000,
    seed: int = 0,
    progress: bool | None = None,
    workers: int | None = None,
    **fields: Any,
) -> Check:
    """Compare ``predict`` with ``measure`` on one specification; takes what ``measure`` takes.

    Raises:
        ValueError, TypeError: as ``predict`` and ``measure`` do, before any work is done.
    """
    prediction = predict(spec, **fields)
    measured = measure(
        prediction.spec,
        replicates=replicates,
        seed=seed,
        progress=progress,
        workers=workers,
        full=True,
    )
    rows, sizes = [], _sizes(prediction.spec, measured)
    for stage, moments in measured.items():
        for attribute in (*ATTRIBUTES, *moments.further):
            estimate = getattr(moments, attribute)
            if estimate is None:
                continue
            predicted, z, note = getattr(prediction[stage], attribute, None), None, ""
            if predicted is None:
                note = "no prediction"
            elif prediction[stage].error_of(attribute) * abs(predicted) > SMALL * estimate.stderr:
                note = "approximate, not judged"
            elif too_rare(prediction, replicates, stage, attribute):
                note = "too rare to judge"
            else:
                size = moments.magnitude(attribute, sizes.get(stage, 0.0))
                z = z_score(predicted, estimate, size)
            rows.append(Row(stage, attribute, predicted, estimate, z, note))
    return Check(prediction.spec, rows, replicates, seed)


def _sizes(spec: TransformerSpec, measured: Measurement) -> dict[str, float]:
    """Mean square of a projection or score if none of its terms cancelled.

    Equal weights behind a LayerNorm, say, give queries that are 0 but for rounding, and rounding
    is relative to what was added up.
    """
    row = measured["input" if spec.norm is None else "normed_input"].second_moment.value
    sizes = {}
    for field in ("query", "key"):
        weight = 1.0
        if not isinstance(getattr(spec, field), str):
            drawn = spec.distribution(field)
            weight = spec.d_model * (drawn.cumulant(2) + drawn.cumulant(1) ** 2)
        sizes[field] = weight * row
    score = spec.d_head * sizes["query"] * sizes["key"]
    scores = dict.fromkeys(("scores", "self_scores"), score)
    logits = dict.fromkeys(("logits", "self_logits"), score * spec.logit_scale**2)
    return sizes | scores | logits
