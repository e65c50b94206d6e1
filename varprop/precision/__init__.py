"""What a narrow floating-point format does to the stages: overflow, underflow, rounded constants.

>>> import varprop
>>> p = varprop.precision(d_model=3072, dtype="bfloat16")
>>> p.multiplier
55.5
>>> p["scaled_embedding"].overflow_probability
0.0

mapping, record, scaling: the mapping, what it holds of a stage, and of the logit scale.
formats: thresholds of a format; rows, projections: which law a stage's entry has.
laws, mixtures: probabilities of a magnitude under these laws; mixtures are those of products.
rounding, decomposition, cells: the mean square of what rounding adds.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from varprop.predict import Prediction
    from varprop.spec import TransformerSpec

    from .mapping import Precision

__all__ = ["precision"]


def precision(
    spec_or_prediction: TransformerSpec | Prediction | None = None,
    dtype: str = "float16",
    entries: int | None = None,
    **fields: Any,
) -> Precision:
    """Return what becomes of each stage's entries when they are rounded to a format.

    A mapping of stage name to a record with `overflow_probability`, `any_overflow_probability`,
    `subnormal_share`, `zero_share`, `rounding_variance`, `rounding_noise_ratio` and `method`. It
    has `multiplier`, `multiplier_variance_factor`, `eps`, `stall_length` and `query_scaling`
    itself, and prints as a table. Stages are computed in exact arithmetic, with the exact factor,
    and each is rounded once, to nearest even.

    Args:
        spec_or_prediction: the default specification if left out.
        dtype: float16, bfloat16, float8_e4m3fn or float8_e5m2.
        entries: how many entries `any_overflow_probability` speaks of; by default as many as the
            tensor has for one sequence: vocab_size*d_model for the two table stages,
            seq_len*d_model for rows, seq_len*n_heads*d_head for query and key,
            n_heads*seq_len*(seq_len - 1) for scores and logits, n_heads*seq_len for those of a
            position with itself, seq_len*vocab_size for output logits.
        **fields: changes of the specification.

    Raises:
        TypeError, ValueError: one line that names the argument, and what is accepted.
    """
    from .mapping import from_arguments

    return from_arguments(spec_or_prediction, dtype, entries, fields)
