"""The exact answer by brute force: every configuration of a tiny model, in plain NumPy loops.

Each random entry is replaced by a discrete law with the same moments up to the order needed (Gauss
quadrature), the entries of the rows are enumerated in full, and given the rows the entries of the
projections are independent, so that moments of sums follow from moments of summands by the binomial
theorem.  No cumulants, set partitions, encodings or closed forms of the project are used.

    exact = Reference(d_model=2, seq_len=3, embedding=("normal", {"std": 1}))
    exact.stage("logits")["variance"]
"""

from collections import Counter
from itertools import permutations, product
from math import comb, cos, factorial, prod, sin, sqrt
from typing import ClassVar

import numpy as np

POINT = ("constant", {"value": 0.0})
VECTORS = ("embedding", "scaled_embedding", "position", "input", "normed_input", "query", "key")
PAIRS = ("scores", "logits")
BUDGET, ROW_BUDGET = 2_000, 4_000


# Laws of single numbers, as nodes and weights.


def compressed(nodes, weights, degree):
    """The fewest nodes with the same integrals of all polynomials of this degree (Lanczos)."""
    wanted = degree // 2 + 1
    merged = Counter()
    for node, weight in zip(nodes, weights, strict=True):
        merged[float(node)] += float(weight)
    nodes, weights = np.array(list(merged)), np.array(list(merged.values()))
    if len(nodes) <= wanted:
        return nodes, weights
    vectors, diagonal, off = [np.sqrt(weights)], [], []
    for step in range(wanted):
        image = nodes * vectors[-1]
        diagonal.append(vectors[-1] @ image)
        for _ in range(2):
            for vector in vectors:
                image = image - (vector @ image) * vector
        size = np.linalg.norm(image)
        if step == wanted - 1 or size < 1e-12 * np.abs(nodes).max():
            break
        off.append(size)
        vectors.append(image / size)
    values, columns = np.linalg.eigh(np.diag(diagonal) + np.diag(off, 1) + np.diag(off, -1))
    return values, columns[0] ** 2


def law(name, arguments, fan_in, fan_out, bias=False):
    """(kind, centre, half width or std, cuts) of an initializer, by PyTorch's formulas."""
    a = dict(arguments)
    fan_in, fan_out = a.pop("fan_in", fan_in), a.pop("fan_out", fan_out)
    if name == "normal":
        return "gauss", a.get("mean", 0), a.get("std", 1), None
    if name == "uniform":
        return "flat", (a["low"] + a["high"]) / 2, (a["high"] - a["low"]) / 2, None
    if name == "truncated_normal":
        std = a.get("std", 1)
        cuts = a.get("low", -2 * std) / std, a.get("high", 2 * std) / std
        return "cut", a.get("variance_preserving", False), std, cuts
    if name == "xavier_uniform":
        return "flat", 0, a.get("gain", 1) * sqrt(6 / (fan_in + fan_out)), None
    if name == "xavier_normal":
        return "gauss", 0, a.get("gain", 1) * sqrt(2 / (fan_in + fan_out)), None
    if name == "kaiming_uniform":
        if bias:
            return "flat", 0, 1 / sqrt(fan_in), None
        return "flat", 0, sqrt(6 / ((1 + a.get("a", sqrt(5)) ** 2) * fan_in)), None
    if name == "kaiming_normal":
        return "gauss", 0, sqrt(2 / ((1 + a.get("a", 0) ** 2) * fan_in)), None
    if name == "lecun_normal":
        return "gauss", 0, sqrt(1 / fan_in), None
    return "gauss", a.get("value", 0), 0, None


def rule(one, degree):
    """Nodes and weights that integrate polynomials of this degree exactly under a law."""
    kind, centre, width, cuts = one
    n = degree // 2 + 1
    if width == 0:
        return np.array([float(centre)]), np.ones(1)
    if kind == "gauss":
        nodes, weights = np.polynomial.hermite_e.hermegauss(n)
        return centre + width * nodes, weights / weights.sum()
    nodes, weights = np.polynomial.legendre.leggauss(n if kind == "flat" else 120)
    if kind == "flat":
        return centre + width * nodes, weights / weights.sum()
    low, high = cuts
    nodes = (low + high) / 2 + (high - low) / 2 * nodes
    weights = weights * np.exp(-(nodes**2) / 2)
    weights /= weights.sum()
    if centre:  # variance preserving
        spread = weights @ nodes**2 - (weights @ nodes) ** 2
        nodes = nodes / sqrt(spread)
    return compressed(width * nodes, weights, degree)


def raw_moments(one, degree):
    nodes, weights = rule(one, degree)
    return [float(weights @ nodes**n) for n in range(degree + 1)]


# Joint moments of sums of independent terms.


def convolved(left, right, degrees):
    """Moments of X + Y from those of independent vectors X and Y; 0 are left out."""
    result = {}
    for m in product(*(range(d + 1) for d in degrees)):
        total = None
        for k in product(*(range(e + 1) for e in m)):
            rest = tuple(e - f for e, f in zip(m, k, strict=True))
            if k not in left or rest not in right:
                continue
            term = prod(comb(e, f) for e, f in zip(m, k, strict=True)) * left[k] * right[rest]
            total = term if total is None else total + term
        if total is not None:
            result[m] = total
    return result


def atom(moments, direction, degrees):
    """Moments of u*w for a random number w and a vector u of arrays (None: 0)."""
    result = {}
    for m in product(*(range(d + 1) for d in degrees)):
        if moments[sum(m)] and not any(
            power and u is None for power, u in zip(m, direction, strict=True)
        ):
            result[m] = moments[sum(m)]
            for power, u in zip(m, direction, strict=True):
                for _ in range(power):
                    result[m] = result[m] * u
    return result


def summed(atoms, degrees):
    total = atoms[0]
    for one in atoms[1:]:
        total = convolved(total, one, degrees)
    return total


class Reference:
    """A tiny specification in plain numbers; see DESIGN section 1 for what the attributes mean."""

    def __init__(
        self,
        d_model=2,
        d_head=1,
        n_heads=1,
        seq_len=2,
        vocab_size=5,
        embedding=POINT,
        embedding_scale=1.0,
        position=("none", {}),
        segment=None,
        dropout=0.0,
        norm=None,
        query=("normal", {"std": 1}),
        key=("normal", {"std": 1}),
        query_bias=POINT,
        key_bias=POINT,
        shared_qk=False,
        token_repeat=0,
        logit_scale=1.0,
        generic=None,
    ):
        self.identity = query == "identity" or (query if shared_qk else key) == "identity"
        self.d, self.h = d_model, d_model if self.identity else d_head
        self.n, self.dropout, self.norm = seq_len, dropout, norm
        self.scale, self.logit_scale, self.repeat = embedding_scale, logit_scale, token_repeat
        self.position, self.shared, self.generic, self.laws = position, shared_qk, generic, {}
        out = self.h * (1 if self.identity else n_heads)
        self.table = law(*embedding, d_model, vocab_size)
        self.learned = (
            law(*position[1]["law"], d_model, seq_len) if position[0] == "learned" else None
        )
        self.segment = law(*segment, d_model, 1) if segment else None
        if shared_qk:
            key, key_bias = query, query_bias
        self.weights = [w if w == "identity" else law(*w, d_model, out) for w in (query, key)]
        self.biases = [law(*b, d_model, None, True) for b in (query_bias, key_bias)]

    # The fixed numbers.

    def sinusoid(self, t, c):
        if self.position[0] != "sinusoidal":
            return 0.0
        angle = t * self.position[1]["base"] ** (-2 * (c // 2) / self.d)
        return cos(angle) if c % 2 else sin(angle)

    def rotation(self, t):
        """The h x h matrix that turns a query or key at position t."""
        matrix = np.eye(self.h)
        if self.position[0] == "rotary":
            turning = self.position[1].get("turning", self.h)
            for k in range(turning // 2):
                angle = t * self.position[1]["base"] ** (-2 * k / turning)
                a, b = 2 * k, 2 * k + 1
                matrix[a, a] = matrix[b, b] = cos(angle)
                matrix[a, b], matrix[b, a] = -sin(angle), sin(angle)
        return matrix

    # The rows, enumerated.

    def patterns(self, count):
        """Which of so many positions share a token, with probabilities: all ids are enumerated."""
        if not self.repeat:
            return {tuple(range(count)): 1.0}
        size = round(1 / self.repeat)
        found = Counter()
        for ids in product(range(size), repeat=count):
            found[tuple(ids.index(one) for one in ids)] += 1 / size**count
        return found

    def channel_law(self, kind, channel, places, tokens, degrees):
        """Points (rows at the places) and weights of one channel."""
        total, input_ = sum(degrees), kind == "input"
        shared, alone = [], []  # shared: (rule, factor, rows that have it)
        for token in sorted(set(tokens)):
            if kind == "position":
                break
            rows = [i for i, other in enumerate(tokens) if other == token]
            factor = 1.0 if kind == "table" else self.scale
            (shared if len(rows) > 1 else alone).append((self.table, factor, rows))
        if input_ and self.segment:
            (shared if len(places) > 1 else alone).append(
                (self.segment, 1.0, list(range(len(places))))
            )
        if self.learned and kind in ("position", "input"):
            alone += [(self.learned, 1.0, [i]) for i in range(len(places))]
        points, chances = [], []
        rules = [self.rule(one, total) for one, _, _ in shared]
        for choice in product(*(range(len(w)) for _, w in rules)):
            chance, base = 1.0, [0.0] * len(places)
            for which, (nodes, weights), (_, factor, rows) in zip(
                choice, rules, shared, strict=True
            ):
                chance *= weights[which]
                for i in rows:
                    base[i] += factor * nodes[which]
            ways = [
                self.own_law(
                    kind,
                    base[i],
                    t,
                    channel,
                    [(r, f) for r, f, rows in alone if i in rows],
                    degrees[i],
                )
                for i, t in enumerate(places)
            ]
            for own in product(*(zip(*way, strict=True) for way in ways)):
                points.append([value for value, _ in own])
                chances.append(chance * prod(weight for _, weight in own))
        return np.array(points), np.array(chances)

    def rule(self, one, degree):
        if self.generic is None or not one[2]:
            return rule(one, degree)
        if one not in self.laws:  # any law at all: what holds for each law holds for it
            nodes, weights = self.generic.normal(size=3), self.generic.uniform(0.2, 1, 3)
            self.laws[one] = nodes, weights / weights.sum()
        return self.laws[one]

    def own_law(self, kind, base, t, c, terms, degree):
        """One entry given what it shares with other rows: sums, then the mask."""
        fixed = 0.0 if kind in ("table", "scaled") else self.sinusoid(t, c)
        nodes, weights = np.array([base + fixed]), np.ones(1)
        for one, factor in terms:
            more, chances = self.rule(one, degree)
            nodes = (nodes[:, None] + factor * more).ravel()
            weights = (weights[:, None] * chances).ravel()
            if self.generic is None:
                nodes, weights = compressed(nodes, weights, degree)
        if kind == "input" and self.dropout:
            nodes = np.concatenate([[0.0], nodes / (1 - self.dropout)])
            weights = np.concatenate([[self.dropout], weights * (1 - self.dropout)])
        return (nodes, weights) if self.generic is not None else compressed(nodes, weights, degree)

    def rows(self, kind, places, tokens, degrees, limit=BUDGET):
        """All rows, shape (N, places, channels), and their weights; None: too many."""
        laws = [
            self.channel_law("input" if kind == "normed" else kind, c, places, tokens, degrees)
            for c in range(self.d)
        ]
        if prod(len(w) for _, w in laws) > limit:
            return None
        grids = np.meshgrid(*(np.arange(len(w)) for _, w in laws), indexing="ij")
        index = [grid.ravel() for grid in grids]
        rows = np.stack([points[i] for (points, _), i in zip(laws, index, strict=True)], axis=-1)
        weights = np.prod([w[i] for (_, w), i in zip(laws, index, strict=True)], axis=0)
        return self.normed(rows, weights) if kind == "normed" else (rows, weights)

    def normed(self, rows, weights):
        if self.norm == "layernorm":
            rows = rows - rows.mean(axis=-1, keepdims=True)
        size = np.sqrt((rows**2).mean(axis=-1, keepdims=True))
        keep = (size > 1e-9).all(axis=(1, 2))
        rows, weights = rows[keep] / size[keep], weights[keep]
        return rows, weights / weights.sum()

    # Projections, given the rows.

    def projected(self, rows, forms, degrees):
        """For each channel a of a head, joint moments of q_a or k_a at the given rows.

        ``forms`` lists (0 for query or 1 for key, row).
        """
        n, found = sum(degrees), []
        for a in range(self.h):
            atoms = []
            for side in (0, 1):
                mine = [self.shared or side == which for which, _ in forms]
                if (self.shared and side) or not any(mine):
                    continue
                if self.weights[side] == "identity":
                    u = [
                        rows[:, row, a] if m else None
                        for m, (_, row) in zip(mine, forms, strict=True)
                    ]
                    atoms.append(atom([1.0] * (n + 1), u, degrees))
                else:
                    moments = raw_moments(self.weights[side], n)
                    for i in range(self.d):
                        u = [
                            rows[:, row, i] if m else None
                            for m, (_, row) in zip(mine, forms, strict=True)
                        ]
                        atoms.append(atom(moments, u, degrees))
                one = np.ones(len(rows))
                u = [one if m else None for m in mine]
                if self.biases[side][1:3] != (0, 0):
                    atoms.append(atom(raw_moments(self.biases[side], n), u, degrees))
            found.append(summed(atoms, degrees))
        return found

    def blocks(self):
        """Groups of channels of a head that a rotation mixes."""
        if self.position[0] != "rotary":
            return [[a] for a in range(self.h)]
        turning = self.position[1].get("turning", self.h)
        return [[2 * k, 2 * k + 1] for k in range(turning // 2)] + [
            [a] for a in range(turning, self.h)
        ]

    def score_moments(self, rows, scores, degrees):
        """Joint moments given the rows of scores (t, s): pairs of a row for q and one for k."""
        forms = [(0, scores[0][0])] + [(1, s) for _, s in scores]
        most = (sum(degrees), *degrees)
        channels = self.projected(rows, forms, most)
        total = None
        for block in self.blocks():
            one = {}
            for m in product(*(range(d + 1) for d in degrees)):
                value = 0.0
                options = [
                    multinomial(self.terms(block, score), power)
                    for score, power in zip(scores, m, strict=True)
                ]
                for chosen in product(*options):
                    powers = {a: [0] * len(forms) for a in block}
                    factor = 1.0
                    for f, (weight, terms) in enumerate(chosen, start=1):
                        factor *= weight
                        for a, b in terms:
                            powers[a][0] += 1
                            powers[b][f] += 1
                    value = value + factor * prod(
                        (channels[a].get(tuple(p), 0.0) for a, p in powers.items()), start=1.0
                    )
                one[m] = value
            total = one if total is None else convolved(total, one, degrees)
        return total

    def terms(self, block, score):
        turn = self._turns[score]
        return [((a, b), turn[a, b]) for a in block for b in block if turn[a, b]]

    # Moments at one place.

    def place(self, stage, where, order):
        """[(probability, raw moments 0 ... order)] for each token pattern at one place."""
        if stage in VECTORS:
            t, c = where
            return self.mixed((t,), lambda tokens: self.vector_place(stage, t, c, tokens, order))
        factor = [
            self.logit_scale**n if stage.endswith("logits") else 1.0 for n in range(order + 1)
        ]
        labels = (where[0],) if stage.startswith("self") else where
        degree = 2 * order if stage.startswith("self") else order
        kind = "normed" if self.norm else "input"
        score = (0, len(labels) - 1)
        self._turns = {score: self.rotation(labels[0]).T @ self.rotation(labels[-1])}

        def moments(tokens):
            found = self.rows(kind, labels, tokens, [degree] * len(labels))
            if found is None:
                return None
            rows, weights = found
            given = self.score_moments(rows, [score], (order,))
            return [
                float(np.sum(weights * given.get((n,), 0.0))) * factor[n] for n in range(order + 1)
            ]

        return self.mixed(labels, moments)

    def mixed(self, places, moments):
        return [(chance, moments(tokens)) for tokens, chance in self.patterns(len(places)).items()]

    ROWS: ClassVar = {
        "embedding": "table",
        "scaled_embedding": "scaled",
        "position": "position",
        "input": "input",
    }

    def vector_place(self, stage, t, c, tokens, order):
        kind = self.ROWS.get(stage, "normed" if self.norm or stage == "normed_input" else "input")
        found = self.rows(kind, (t,), tokens, [order])
        if found is None:
            return None
        rows, weights = found
        if stage in self.ROWS or stage == "normed_input":
            return [float(weights @ rows[:, 0, c] ** n) for n in range(order + 1)]
        channels = self.projected(rows, [(int(stage == "key"), 0)], (order,))
        turn = self.rotation(t)[c]
        parts = [
            {m: value * turn[a] ** m[0] for m, value in channels[a].items()}
            for a in range(self.h)
            if turn[a]
        ]
        result = summed(parts, (order,))
        return [float(np.sum(weights * result.get((n,), 0.0))) for n in range(order + 1)]

    # Attributes.

    def places(self, stage):
        if stage in VECTORS:
            return list(
                product(range(self.n), range(self.h if stage in ("query", "key") else self.d))
            )
        if stage in PAIRS:
            return list(permutations(range(self.n), 2))
        return [(t,) for t in range(self.n)]

    def stage(self, stage, order=2):
        """All attributes of a stage (kurtosis: order 4); None: absent or too many rows."""
        places = self.places(stage)
        if not places:
            return None
        found = [self.place(stage, where, order) for where in places]
        if any(moments is None for patterns in found for _, moments in patterns):
            return None
        raw = np.array(
            [np.sum([c * np.array(m) for c, m in patterns], axis=0) for patterns in found]
        )
        mean = raw.mean(axis=0)
        result = {
            "mean": mean[1],
            "variance": mean[2] - mean[1] ** 2,
            "ensemble_variance": float(np.mean(raw[:, 2] - raw[:, 1] ** 2)),
            "second_moment": mean[2],
            "cross_position_moment": self.cross(stage) if stage in VECTORS and self.n > 1 else None,
            "row_variance": self.row_variance(stage, mean[2])
            if stage in PAIRS and self.n > 2
            else None,
        }
        result["std"] = sqrt(max(result["variance"], 0))
        if order >= 4:
            fourth = mean[4] - 4 * mean[3] * mean[1] + 6 * mean[2] * mean[1] ** 2 - 3 * mean[1] ** 4
            tiny = result["variance"] < 1e-12 * mean[2] or result["variance"] == 0
            result["excess_kurtosis"] = None if tiny else fourth / result["variance"] ** 2 - 3
        result["places"] = dict(zip(places, raw, strict=True))
        result["by_pattern"] = dict(zip(places, found, strict=True))
        return result

    def cross(self, stage):
        """Mean over t != s and channels of E[x_tc x_sc]."""
        values = []
        kind = self.ROWS.get(stage, "normed" if self.norm or stage == "normed_input" else "input")
        for t, s in permutations(range(self.n), 2):
            total = 0.0
            for tokens, chance in self.patterns(2).items():
                rows, weights = self.rows(kind, (t, s), tokens, [1, 1], limit=np.inf)
                if stage in self.ROWS or stage == "normed_input":
                    total += chance * float(weights @ (rows[:, 0] * rows[:, 1]).mean(axis=1))
                    continue
                side = int(stage == "key")
                channels = self.projected(rows, [(side, 0), (side, 1)], (1, 1))
                turn, turned = self.rotation(t), self.rotation(s)
                for c, a, b in product(range(self.h), repeat=3):
                    if turn[c, a] and turned[c, b]:
                        apart = channels[a].get((1, 0), 0.0) * channels[b].get((0, 1), 0.0)
                        both = channels[a].get((1, 1), 0.0) if a == b else apart
                        total += (
                            chance
                            * turn[c, a]
                            * turned[c, b]
                            * float(np.sum(weights * both))
                            / self.h
                        )
            values.append(total)
        return float(np.mean(values))

    def row_variance(self, stage, second):
        """E[l_ij^2] - E[l_ij l_ij'] over distinct i, j, j'; nan: too many configurations."""
        kind, values = "normed" if self.norm else "input", []
        for t, s, r in permutations(range(self.n), 3):
            first, other = (0, 1), (0, 2)
            self._turns = {
                first: self.rotation(t).T @ self.rotation(s),
                other: self.rotation(t).T @ self.rotation(r),
            }
            total = 0.0
            for tokens, chance in self.patterns(3).items():
                found = self.rows(kind, (t, s, r), tokens, [2, 1, 1], limit=ROW_BUDGET)
                if found is None:
                    return np.nan
                rows, weights = found
                given = self.score_moments(rows, [first, other], (1, 1))
                total += chance * float(np.sum(weights * given.get((1, 1), 0.0)))
            values.append(total)
        factor = self.logit_scale**2 if stage == "logits" else 1.0
        return second - factor * float(np.mean(values))


def multinomial(terms, power):
    """The terms of (sum of coefficient * term)^power: [(coefficient, list of terms)]."""
    result = []
    for counts in product(range(power + 1), repeat=len(terms)):
        if sum(counts) == power:
            weight = factorial(power)
            chosen = []
            for (term, coefficient), count in zip(terms, counts, strict=True):
                weight *= coefficient**count / factorial(count)
                chosen += [term] * count
            result.append((weight, chosen))
    return result
