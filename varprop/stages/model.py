"""The quantities before the first softmax as tensors of the engine, in a few lines that read like definitions."""

from __future__ import annotations

from varprop.algebra import einsum, fixed, iid, joint
from varprop.algebra.tensors import Leaf, Tensor

from .structure import ABSENT, GENERAL, IDENTITY, SYMMETRIC, Structure

HIGHEST_ORDER = 8


class Model:
    """Tensors of one structure at up to three positions, labelled "t", "s", "r".

    Scalars are names: ``x_t2_s1`` is the joint cumulant of two copies of an entry of row t and one of row
    s, ``x_t2m1`` one with a copy of the mask, ``query_weight_4`` the fourth cumulant of a weight.
    """

    def __init__(self, structure: Structure, labels: str) -> None:
        """Draw the rows at the labels jointly."""
        self.structure = structure
        names = tuple(f"z_{label}" for label in labels) + tuple(f"m_{label}" for label in labels)
        key = (structure.own, structure.cross, structure.mask)
        family = joint(names, "d_model", lambda members: row_cumulant(structure, labels, members), key)
        self._random: dict[str, Leaf] = {leaf.name: leaf for leaf in family}

    def rows(self, label: str) -> Tensor:
        """x = m * (noise + f): what goes into the first norm or projection, at one position."""
        if self.structure.normed:
            return fixed(f"y_{label}", "d_model")
        z, m, f = self._random[f"z_{label}"], self._random[f"m_{label}"], fixed(f"f_{label}", "d_model")
        if self.structure.position != "sinusoidal":
            return z
        if self.structure.own == ABSENT and not self.structure.mask:
            return f
        return z + f + m * f if self.structure.mask else z + f

    def query(self, label: str) -> Tensor:
        """q = W x + b before any rotation."""
        return self._projection("query", label)

    def key(self, label: str) -> Tensor:
        """k = W x + b before any rotation; the query's W and b where they are shared."""
        return self._projection("query" if self.structure.shared else "key", label)

    def rotated(self, vector: Tensor, label: str) -> Tensor:
        """Turn a query or key to its position, if the encoding is rotary."""
        if self.structure.position != "rotary":
            return vector
        return einsum("ab,b->a", fixed(f"R_{label}", (*vector.shape, *vector.shape)), vector)

    def score(self, t: str, s: str) -> Tensor:
        """q_t . k_s, both rotated; R_ts = R_t^T R_s turns by the distance and is the identity for t = s."""
        q, k = self.query(t), self.key(s)
        if self.structure.position != "rotary" or t == s:
            return einsum("a,a->", q, k)
        return einsum("a,ab,b->", q, fixed(f"R_{t}{s}", (*q.shape, *q.shape)), k)

    def _projection(self, name: str, label: str) -> Tensor:
        x = self.rows(label)
        kind = getattr(self.structure, name)
        identity = IDENTITY in (self.structure.query, self.structure.key)
        width = "d_model" if identity else "d_head"
        if kind != IDENTITY:
            x = einsum("ai,i->a", self._drawn(f"{name}_weight", (width, "d_model"), kind), x)
        bias = getattr(self.structure, f"{name}_bias")
        return x if bias == ABSENT else x + self._drawn(f"{name}_bias", (width,), bias)

    @staticmethod
    def _drawn(name: str, shape: tuple[str, ...], kind: str) -> Leaf:
        orders = range(1, HIGHEST_ORDER + 1) if kind == GENERAL else range(2, HIGHEST_ORDER + 1, 2)
        return iid(name, shape, cumulants={order: f"{name}_{order}" for order in orders})


def row_cumulant(structure: Structure, labels: str, members: tuple[str, ...]) -> str | int:
    """Name the joint cumulant of noise entries z and centred masks m of the rows, or 0 where it vanishes."""
    noise = {label: members.count(f"z_{label}") for label in labels}
    masks = {label: members.count(f"m_{label}") for label in labels}
    shown = [label for label in labels if noise[label] or masks[label]]
    if any(masks[label] and not noise[label] for label in shown) and (len(shown) > 1 or len(members) == 1):
        return 0
    kind = structure.own if len(shown) == 1 else structure.cross
    total = sum(noise.values())
    if total and (kind == ABSENT or (kind == SYMMETRIC and total % 2)):
        return 0
    counts = [(noise[label], masks[label]) for label in shown]
    if len(labels) <= 2 or len(shown) == 1:  # rows are exchangeable: name them in a fixed order
        counts.sort(reverse=True)
        shown = list("ts"[: len(shown)])
    parts = [f"{label}{z}" + (f"m{m}" if m else "") for label, (z, m) in zip(shown, counts, strict=True)]
    return "x_" + "_".join(parts)
