"""The symbols of the derivation pages, and the tensors they stand for."""

from __future__ import annotations

from typing import Any

import sympy

from varprop import algebra as va

d, h, n = va.dims("d h n")
c, s, lam, omega = sympy.symbols("c s lambda omega", positive=True)
kappa, mu, theta, tau, tau_2 = sympy.symbols("kappa mu theta tau tau_2", real=True)
a_q, a_k, a, b_q, b_k = sympy.symbols("a_{q} a_{k} a b_{q} b_{k}", positive=True)
rho, eta, sigma = sympy.symbols("rho eta sigma", positive=True)
f_t, f_s, u_t, u_s, w_ts, w_sr = sympy.symbols("f_{t} f_{s} u_{t} u_{s} w_{ts} w_{sr}", real=True)
p_bar, norm_t, norm_s, inner = sympy.symbols("p_bar x_norm_t x_norm_s x_inner", real=True)
TYPESET = {
    p_bar: r"\bar{p}",
    norm_t: r"\lVert x_{t} \rVert",
    norm_s: r"\lVert x_{s} \rVert",
    inner: r"\left(x_{t} \cdot x_{s}\right)",
}

SCALES: dict[str, Any] = {
    "1": sympy.Integer(1),
    "sqrt(d_model)": sympy.sqrt(d),
    "d_model": d,
    "1/sqrt(d_model)": 1 / sympy.sqrt(d),
    "1/d_model": 1 / d,
}
LOGIT_SCALES: dict[str, Any] = {
    "1": sympy.Integer(1),
    "1/sqrt(d_head)": 1 / sympy.sqrt(h),
    "1/d_head": 1 / h,
    "1/sqrt(d_model)": 1 / sympy.sqrt(d),
}
STDS: dict[str, Any] = {"1": sympy.Integer(1), "1/sqrt(d_model)": 1 / sympy.sqrt(d)}
RULE = ["factor", *(f"std {std}" for std in STDS)]
LOGIT_RULE = ["factor", "logit scale", *RULE[1:]]

TABLE = va.iid("E", (n, d), variance=s**2, excess_kurtosis=kappa)
TOKENS = c * TABLE
POSITIONS = va.fixed("P", (n, d))
INPUT = TOKENS + POSITIONS
HELD = va.fixed("X", (n, d))

_CONTRACTIONS = {
    ("P", "tt"): u_t,
    ("P", "ss"): u_s,
    ("P", "st"): w_ts,
    ("P", "rs"): w_sr,
    ("X", "tt"): norm_t**2,
    ("X", "ss"): norm_s**2,
    ("X", "st"): inner,
}


def projected(letter: str, variance: Any, rows: Any = INPUT) -> Any:
    """Queries or keys W x without bias, W Gaussian with mean 0, shape (n, d_head)."""
    return va.einsum("ai,ti->ta", va.iid(letter, (h, d), variance=variance), rows)


def bias(letter: str, variance: Any) -> Any:
    """One Gaussian bias of d_head entries, the same for every position, shape (n, d_head)."""
    return va.einsum("t,a->ta", va.ones((n,)), va.iid(letter, (h,), variance=variance))


def scores(query: Any, key: Any) -> Any:
    """All products q_t . k_s, shape (n, n)."""
    return va.einsum("ta,sa->ts", query, key)


def named(expression: Any) -> Any:
    """Write sums over the channels of P (the encoding) or X (a held input) as symbols.

    Entries of P that no sum runs over become symbols too.
    """
    sums = {total: _CONTRACTIONS[_factors(total.function)] for total in expression.atoms(sympy.Sum)}
    rest = expression.xreplace(sums)
    entries = {
        entry: f_t if str(entry.indices[0]) == "t" else f_s for entry in rest.atoms(sympy.Indexed)
    }
    return rest.xreplace(entries)


def _factors(product: Any) -> tuple[str, str]:
    tensor, rows = "", []
    for factor in sympy.Mul.make_args(product):
        base, power = factor.as_base_exp()
        tensor = str(base.base)
        rows += [str(base.indices[0])] * int(power)
    return tensor, "".join(sorted(rows))


def even_sinusoidal(expression: Any) -> Any:
    """Put in what every row of a sinusoidal table of even width has: |p_t|^2 = d/2."""
    return expression.xreplace({u_t: d / 2, u_s: d / 2})


def square_xavier(expression: Any) -> Any:
    """Put in the weight variance of square Xavier projections, 1/d."""
    return expression.xreplace({a_q: 1 / d, a_k: 1 / d})


def tidy(expression: Any) -> Any:
    """Return the shortest of the expanded, the factored and the cancelled form."""
    forms = (sympy.expand(expression), sympy.factor(expression), sympy.cancel(expression))
    return min(forms, key=sympy.count_ops)


def scaling_rows(expression: Any, logit_scales: bool = False) -> list[list[Any]]:
    """Return a form under each embedding factor and table std (columns), and each logit scale."""
    rows = []
    for factor, by in SCALES.items():
        for logit, times in (LOGIT_SCALES if logit_scales else {"": sympy.Integer(1)}).items():
            values = [{c: by, s: std, lam: times} for std in STDS.values()]
            cells = [tidy(expression.subs(value, simultaneous=True)) for value in values]
            rows.append([f"`{factor}`", *([f"`{logit}`"] if logit else []), *cells])
    return rows
