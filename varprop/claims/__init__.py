"""The claims of two documents about the factor sqrt(d_model), decided by calculation.

>>> from varprop import claims
>>> claims.decide("A1", std=1).verdict
'fails'
>>> claims.decide("A1", std="1/sqrt(d_model)").verdict
'holds'
>>> [decision.verdict for decision in claims.audit(["A8", "A9"])]
['holds', 'fails']

A verdict is never assigned: it follows from the numbers under each reading (`records.verdict_of`).
"""

from varprop.claims.deciding import Decision, audit, decide
from varprop.claims.inputs import Inputs
from varprop.claims.records import Claim
from varprop.claims.registry import CLAIMS

__all__ = ["CLAIMS", "Claim", "Decision", "Inputs", "audit", "decide"]
