"""Tiny specifications as plain data: random ones, their text for `predict`, and the comparison."""

import math

import numpy as np

SECOND_ORDER = (
    "mean",
    "variance",
    "ensemble_variance",
    "second_moment",
    "std",
    "cross_position_moment",
    "row_variance",
)


def text(one):
    """An initializer (name, arguments) as predict reads it."""
    if one is None or isinstance(one, str):
        return one or "none"
    name, arguments = one
    return f"{name}({', '.join(f'{key}={value!r}' for key, value in arguments.items())})"


def spec_fields(fields):
    """The fields of a case as predict takes them."""
    fields = dict(fields)
    for field in ("embedding", "segment", "query", "key", "query_bias", "key_bias"):
        if field in fields:
            fields[field] = text(fields[field])
    if "position" in fields:
        name, a = fields["position"]
        turning = f", fraction={a['turning']}/d_head" if "turning" in a else ""
        inside = {"none": "", "learned": f"({text(a.get('law'))})"}
        fields["position"] = name + inside.get(name, f"(base={a.get('base')}{turning})")
    if fields.get("norm"):
        fields["norm"] += "(eps=0)"
    return fields


def initializer(draw, bias=False, centred=False):
    """A random initializer; ``draw(options)`` chooses one."""
    number = lambda *options: draw(options)  # noqa: E731
    std, low = number(0.5, 1.0, 0.3), number(-0.8, 0.2, -0.25)
    fans = {"fan_in": 5, "fan_out": 7} if bias else number({}, {}, {"fan_out": 6}, {"fan_in": 3})
    kinds = [
        ("normal", {"std": std}),
        ("uniform", {"low": -std, "high": std}),
        ("truncated_normal", {"std": std}),
        ("truncated_normal", {"std": std, "low": -1.0, "high": 1.0, "variance_preserving": True}),
        ("xavier_uniform", {"gain": std} | fans),
        ("xavier_normal", fans),
        ("kaiming_uniform", fans),
        ("kaiming_normal", fans),
        ("lecun_normal", fans),
        ("zeros", {}),
    ]
    if not centred:
        kinds += [
            ("normal", {"mean": low, "std": std}),
            ("uniform", {"low": low, "high": low + 2 * std}),
            ("truncated_normal", {"std": std, "low": low, "high": 2.0}),
            (
                "truncated_normal",
                {"std": std, "low": low, "high": 2.0, "variance_preserving": True},
            ),
            ("constant", {"value": low}),
        ]
    return draw(kinds)


def case(draw, centred=False, norm=False):
    """A random tiny case, all fields of it."""
    identity = draw([False, False, False, True])
    d_model = draw([1, 2, 2, 3, 4])
    d_head = d_model if identity else draw([1, 2, 2])
    positions = [("none", {}), ("sinusoidal", {"base": draw([7.0, 10000.0, 1.0, 0.5])})] * 2
    positions += [("learned", {"law": initializer(draw, centred=centred)})] * 2
    if d_head > 1:
        positions += [("rotary", {"base": 3.0, "turning": d_head if d_head % 2 == 0 else 2})] * 2
        positions += [("rotary", {"base": 100.0, "turning": 2})]
    projections = [initializer(draw, centred=centred), initializer(draw, centred=centred)]
    if identity:
        projections = draw(
            [["identity", "identity"], ["identity", projections[0]], [projections[0], "identity"]]
        )
    fields = {
        "d_model": d_model,
        "d_head": d_head,
        "n_heads": draw([1, 2]),
        "seq_len": draw([1, 2, 3, 3, 4]),
        "vocab_size": draw([3, 7]),
        "embedding": initializer(draw, centred=centred),
        "embedding_scale": draw([1.0, 0.6, -1.3, 0.0]),
        "position": draw(positions),
        "segment": draw([None, None, initializer(draw, centred=centred)]),
        "dropout": draw([0.0, 0.0, 0.25]),
        "query": projections[0],
        "key": projections[1],
        "query_bias": draw([("zeros", {}), initializer(draw, True, centred)]),
        "key_bias": draw([("zeros", {}), initializer(draw, True, centred)]),
        "shared_qk": draw([False, False, True]),
        "token_repeat": draw([0, 0, 0.5, 1 / 3, 1]),
        "logit_scale": draw([1.0, 0.4, -2.0]),
    }
    if norm:
        fields |= {"norm": draw(["layernorm", "rmsnorm"])}
    return fields


def differences(predicted, exact, attributes=SECOND_ORDER, relative=1e-9):
    """Where a stage's Moments differ from the reference: [(attribute, predicted, exact)]."""
    scale = math.sqrt(exact["second_moment"])
    found = []
    for attribute in attributes:
        mine, true = getattr(predicted, attribute), exact[attribute]
        if true is not None and np.isnan(true):
            agree = mine is not None  # too many configurations to enumerate
        elif mine is None or true is None:
            agree = mine is true
        elif attribute == "excess_kurtosis":
            floor = (exact["second_moment"] / exact["variance"]) ** 2
            agree = abs(mine - true) <= relative * (abs(true) + 3) + 1e-13 * floor
        elif attribute == "std":
            agree = abs(mine**2 - true**2) <= relative * true**2 + 1e-13 * scale**2
        else:
            power = 1 if attribute == "mean" else 2
            agree = abs(mine - true) <= relative * abs(true) + 1e-13 * scale**power
        if not agree or (mine is not None and not isinstance(mine, float)):
            found.append((attribute, mine, true))
    return found


def generator(seed):
    """A ``draw`` for `case` from a seed."""
    rng = np.random.default_rng(seed)
    return lambda options: options[rng.integers(len(options))]
