"""The quantities before the first softmax as tensors of the engine, written as definitions."""

from __future__ import annotations

from itertools import product
from math import comb, prod
from typing import Any

from varprop.algebra import einsum, fixed, iid, joint
from varprop.algebra.polynomials import scalar
from varprop.algebra.tensors import Leaf, Tensor

from .structure import ABSENT, GENERAL, HIGHEST_ORDER, IDENTITY, SYMMETRIC, Structure


class Model:
    """Tensors of one structure at up to three positions, labelled "t", "s", "r".

    Scalars are names: ``x_t2_s1`` is the joint cumulant of two copies of the random part of an
    entry of row t and one of row s, ``x_t2m1`` that of two copies at t and one of the mask,
    ``query_weight_4`` the fourth cumulant of a weight.
    """

    def __init__(self, structure: Structure, labels: str) -> None:
        """Draw the rows at the labels jointly."""
        self.structure = structure
        names = tuple(f"x_{label}" for label in labels)
        self._fixed = {label: fixed(f"f_{label}", "d_model") for label in labels}
        key = (structure.own, structure.cross, structure.position, structure.mask)
        family = joint(names, "d_model", lambda members: self._cumulant(labels, members), key)
        self._rows = dict(zip(labels, family, strict=True))

    def rows(self, label: str) -> Tensor:
        """x = mask * (noise + f): what goes into the first norm or projection, at one position."""
        return fixed(f"y_{label}", "d_model") if self.structure.normed else self._rows[label]

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
        """q_t . k_s, both rotated; R_ts = R_t^T R_s turns by the distance, and is 1 for t = s."""
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

    def _cumulant(self, labels: str, members: tuple[str, ...]) -> dict[tuple[Leaf, ...], Any]:
        """Joint cumulant of entries x = z + f + (m - 1) f, with noise z = m * noise and mask m.

        By linearity it is a sum over which copies are noise; the others are f times a centred mask.
        """
        counts = [members.count(f"x_{label}") for label in labels]
        shown = self._fixed.values()
        terms: dict[tuple[Leaf, ...], Any] = {}
        choices = [range(count + 1) if self._masked else (0,) for count in counts]
        for masks in product(*choices):
            name = row_cumulant(self.structure, labels, counts, masks)
            if name is not None:
                ways = prod(comb(count, mask) for count, mask in zip(counts, masks, strict=True))
                fields = [f for f, mask in zip(shown, masks, strict=True) for _ in range(mask)]
                terms[tuple(fields)] = scalar(ways) * scalar(name)
        if self.structure.position == "sinusoidal" and len(members) == 1:
            terms[(self._fixed[members[0][-1]],)] = 1
        return terms

    @property
    def _masked(self) -> bool:
        return self.structure.mask and self.structure.position == "sinusoidal"


def row_cumulant(
    structure: Structure, labels: str, counts: list[int], masks: tuple[int, ...]
) -> str | None:
    """Name the joint cumulant of noise and centred masks of the rows; None where it vanishes.

    Of ``counts`` copies at each label, ``masks`` are masks.
    """
    copies = [
        (label, count - mask, mask)
        for label, count, mask in zip(labels, counts, masks, strict=True)
        if count
    ]
    noise = sum(z for _, z, _ in copies)
    if any(not z for _, z, _ in copies) and (len(copies) > 1 or sum(counts) == 1):
        return None  # a mask alone at a row is independent of the others, and centred
    kind = structure.own if len(copies) == 1 else structure.cross
    if noise and (kind == ABSENT or (kind == SYMMETRIC and noise % 2)):
        return None
    if len(labels) <= 2 or len(copies) == 1:  # rows are exchangeable: name them in a fixed order
        ordered = sorted(((z, m) for _, z, m in copies), reverse=True)
        copies = [(label, z, m) for label, (z, m) in zip("ts", ordered, strict=False)]
    return "x_" + "_".join(f"{label}{z}" + (f"m{m}" if m else "") for label, z, m in copies)
