"""What a check does not judge, because a simulation sees too few of the events that decide."""

import pytest

import varprop
from varprop.rare import too_rare

PLAIN = {"position": "none", "query": "normal", "key": "normal", "seq_len": 5}


@pytest.mark.parametrize(
    ("fields", "replicates", "stage", "attribute", "rare"),
    [
        # All of a row is dropped once in 10^4: 0.75 rows of zeros are expected, then 7500.
        ({"d_model": 4, "dropout": 0.1, "norm": "rmsnorm"}, 1500, "query", "variance", True),
        ({"d_model": 4, "dropout": 0.1, "norm": "rmsnorm"}, 10**8, "query", "variance", False),
        ({"d_model": 64, "dropout": 0.1, "norm": "rmsnorm"}, 1500, "query", "variance", False),
        # eps takes 1 - 0.9987 from rows of one channel, and nearly all of that from the smallest.
        ({"d_model": 1, "norm": "rmsnorm"}, 300, "normed_input", "second_moment", True),
        ({"d_model": 1, "norm": "rmsnorm"}, 10**6, "normed_input", "second_moment", False),
        ({"d_model": 16, "norm": "rmsnorm"}, 300, "normed_input", "second_moment", False),
        ({"d_model": 1, "norm": "rmsnorm"}, 300, "input", "second_moment", False),
        # The input token wins but for one row in some thousands, where it loses a lot.
        ({"d_model": 64, "vocab_size": 20}, 300, "loss", "own_token", True),
        ({"d_model": 64, "vocab_size": 20}, 300, "loss", "other_token", False),
        ({"d_model": 16, "logit_scale": 1e9}, 300, "attention", "entropy", True),
        ({"d_model": 16}, 300, "attention", "entropy", False),
        ({"d_model": 16, "seq_len": 1}, 300, "attention", "entropy", False),
    ],
)
def test_rare_events(fields, replicates, stage, attribute, rare):
    prediction = varprop.predict(**(PLAIN | {"n_heads": 1} | fields))
    assert too_rare(prediction, replicates, stage, attribute) is rare


def test_a_check_says_so():
    result = varprop.check(
        **PLAIN, d_model=4, n_heads=1, dropout=0.1, norm="rmsnorm", replicates=100
    )
    notes = {row.note for row in result if row.stage == "normed_input" and row.z is None}
    assert notes <= {"too rare to judge", "no prediction"}
    assert "too rare to judge" in notes
    assert "too rare to judge" in str(result)
