"""A row of the output head against a hidden state that is independent of it."""

from __future__ import annotations

from functools import cached_property

from varprop.algebra import einsum, iid
from varprop.algebra.tensors import Tensor
from varprop.outcomes.hidden import Hidden
from varprop.outcomes.moments import OutcomeMoments
from varprop.stages.derivation import ClosedForm, Parts, closed_form
from varprop.stages.model import Model
from varprop.stages.place_polynomials import PlacePolynomial
from varprop.stages.stage import Definition
from varprop.stages.structure import ABSENT, Structure


def _logit(model: Model, t: str) -> Tensor:
    """h.e for a row y of the hidden state, y fixed, and one row e of the head."""
    head = iid("head", ("d_model",), cumulants={order: f"head_{order}" for order in range(1, 5)})
    return einsum("i,i->", model.rows(t), head)


LOGIT = Definition(
    name="output_logits", place=_logit, labels="t", channels=False, reads=("normed",)
)


def _form(order: int) -> ClosedForm:
    """The cumulant given y, as the engine derives it."""
    return closed_form(LOGIT, Structure(own=ABSENT, normed=True), f"cumulant {order}")


class Head:
    """Moments of factor y.e over rows y that have a direction, from the cumulants k_n given y.

    mean = E k1,  variance = E k2 + Var k1,
    fourth cumulant = E k4 + 4 Cov(k3, k1) + k4(k1),  k2 the same for all y
    """

    def __init__(self, hidden: Hidden, field: str, factor: float) -> None:
        self.hidden, self.factor = hidden, factor
        self.drawn = hidden.spec.distribution(field)

    def given(self, order: int) -> PlacePolynomial:
        """The cumulant given y: a polynomial in power sums of y."""
        values = _form(order)(lambda name: self.drawn.cumulant(int(name.rpartition("_")[2])))
        return PlacePolynomial(values).scaled(self.factor**order)

    def average(self, polynomial: PlacePolynomial) -> float | None:
        """Its mean over y, None where that is not known."""
        found = polynomial.averaged(self._power_sums)
        return None if found is None else float(found)

    def _power_sums(self, parts: Parts) -> float | None:
        return self.hidden.sums.of(tuple(sorted(map(len, parts))))

    @property
    def spread(self) -> float:
        """The variance given y: what a softmax over the head sees."""
        found = self.average(self.given(2))
        assert found is not None  # |y|^2 is d_model
        return found

    def mean(self) -> float | None:
        """E k1."""
        return self.average(self.given(1))

    def shared(self) -> float | None:
        """Var k1: what all rows of the head have in common, through the mean of their entries."""
        level = self.factor * float(self.drawn.cumulant(1))
        if level == 0:
            return 0.0
        sums = PlacePolynomial(_form(1)(lambda name: 1.0))
        mean, square = self.average(sums), self.average(sums * sums)
        return None if mean is None or square is None else level**2 * max(square - mean**2, 0.0)

    def moments(self) -> tuple[float | None, float | None]:
        """Mean and variance over all rows, those without direction included."""
        live = self.hidden.live
        if not live:
            return (None, None) if live is None else (0.0, 0.0)
        mean, shared = self.mean(), self.shared()
        if mean is None or shared is None:
            return None if mean is None else live * mean, None
        between = (1 - live) * mean**2
        return live * mean, live * (self.spread + shared + between)

    def fourth_moment_excess(self) -> float | None:
        """The fourth cumulant."""
        first, third = self.given(1), self.given(3)
        square = first * first
        wanted = (self.given(4), third * first, third, first, square, square * first)
        found = [self.average(polynomial) for polynomial in (*wanted, square * square)]
        known = [value for value in found if value is not None]
        if len(known) < len(found):
            return None
        k4, k31, k3, m1, m2, m3, m4 = known
        shared = m4 - 4 * m3 * m1 - 3 * m2**2 + 12 * m2 * m1**2 - 6 * m1**4
        return k4 + 4 * (k31 - k3 * m1) + shared


class HeadMoments(OutcomeMoments):
    """Moments of a stage behind the output head, for a spec of single numbers."""

    @cached_property
    def hidden(self) -> Hidden:
        """The hidden state."""
        return Hidden(self.prediction.spec)

    @cached_property
    def tied(self) -> bool:
        """Whether the head is the table."""
        return bool(self.prediction.spec.output_head == "tied")

    @cached_property
    def head(self) -> Head:
        """The head's rows against hidden states that are independent of them."""
        spec = self.prediction.spec
        factor = float(spec.output_scale) * float(spec.hidden_scale)
        return Head(self.hidden, "embedding" if self.tied else "output_head", factor)
