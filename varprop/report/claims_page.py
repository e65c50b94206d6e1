"""The page of the audited claims, and the committed record of its measured numbers.

page()               derivations/claims.md, byte for byte the same wherever it is written
record()             measure again: the text of derivations/claims.json
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any

from varprop.claims import CLAIMS, Decision, Inputs, audit
from varprop.claims.answer import answer, contradictions, opening
from varprop.claims.deciding import decide_claim
from varprop.claims.records import DecidedReading
from varprop.claims.tables import cells
from varprop.claims.torch_record import describe, recorded
from varprop.report.text import UNKNOWN
from varprop.simulation.estimates import Estimate

RECORD, PAGE = "claims.json", "claims.md"
_REMEDY = "'varprop derive --measure' writes it"
SYMBOLS = (
    "$c$ is the factor, $s$ the table's std, $b$ half the width of a uniform table, $d$ is "
    "`d_model`, $h$ is `d_head`, $n$ is `seq_len` and $V$ is `vocab_size`; $\\ell$ is the "
    "logit scale (1 for raw scores), $a$ the variance of one weight of a projection and $w$ of one "
    "of a layer, $v$ a variance and $\\varepsilon$ what a norm adds to it."
)


def record() -> str:
    """Measure every claim for the documents' own inputs, as the text of claims.json."""
    import numpy

    from varprop.claims.quantities import SEED

    measured = {
        decision.id: [
            [list(f.measured) if f.measured else None for f in each.findings]
            for each in decision.readings
        ]
        for decision in audit()
    }
    versions = {"numpy": numpy.__version__, "torch": recorded()["torch"]}
    lines = ",\n".join(f"  {json.dumps(id)}: {json.dumps(each)}" for id, each in measured.items())
    head = f' "versions": {json.dumps(versions)},\n "seed": {SEED},\n'
    return "{\n" + head + ' "measured": {\n' + lines + "\n }\n}\n"


def decisions(directory: Path) -> tuple[list[Decision], dict[str, Any]]:
    """Every claim decided with the recorded measurements, and the record.

    Raises:
        ValueError: the record is missing, or it is of other claims or readings.
    """
    path = directory / RECORD
    try:
        data: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))

        def lookup(id: str, place: int, part: int) -> Estimate | None:
            found = data["measured"][id][place][part]
            return None if found is None else Estimate(*found)

        result = [decide_claim(claim, Inputs(), lookup) for claim in CLAIMS.values()]
        shape = [[len(each.findings) for each in decision.readings] for decision in result]
        if shape != [[len(each) for each in data["measured"][d.id]] for d in result]:
            raise KeyError(RECORD)
    except OSError as error:
        raise ValueError(f"directory: cannot read {path} ({error.strerror}); {_REMEDY}") from None
    except (ValueError, TypeError, KeyError, IndexError):
        raise ValueError(f"directory: {path} does not fit the claims; {_REMEDY}") from None
    return result, data


def page(directory: Path) -> str:
    """The page as markdown; measured numbers come from the record in the directory."""
    decided, data = decisions(directory)
    parts = ["# Two documents, claim by claim", *opening(decided), _provenance(data)]
    parts += ["## All claims", _summary(decided), "## One by one", SYMBOLS]
    for decision in decided:
        parts += _section(decision)
    parts += ["## Where the documents contradict each other, or themselves"]
    parts += ["\n".join(contradictions())]
    parts += answer()
    parts += ["*Written by `varprop derive` from the claims in `varprop/claims`.*"]
    return "\n\n".join(parts) + "\n"


def _provenance(data: dict[str, Any]) -> str:
    return (
        f"Measured numbers are those of the committed record, made with seed {data['seed']} and "
        f"NumPy {data['versions']['numpy']}; for A3 and B18 from {describe(recorded())}. "
        "`varprop claims` measures afresh, and exits with 1 if a prediction lies more than five "
        "standard errors off."
    )


def _summary(decided: Iterable[Decision]) -> str:
    rows = []
    for decision in decided:
        id, first = decision.id, decision.readings[:1]
        numbers = cells(first[0].deciding) if first else (UNKNOWN,) * 3
        rows.append((f"[{id}](#{id.lower()})", decision.claim.short, decision.verdict, *numbers))
    header = ("claim", "what it says", "verdict", "claimed", "predicted", "measured")
    note = "Numbers are those that decide the first, most natural reading."
    return f"{note}\n\n{_table(header, rows)}"


def _section(decision: Decision) -> list[str]:
    claim = decision.claim
    parts = [f"### {claim.id}", f"**Said** (document {claim.document}, {claim.section}). "]
    parts[-1] += claim.statement
    if decision.readings:
        header = ("reading", "quantity", "claimed", "predicted", "measured", "holds")
        rows = [row for each in decision.readings for row in _rows(each)]
        parts += ["**Meant.**", _table(header, rows)]
    shown = f"**Calculated.** {claim.calculation}"
    if claim.formula:
        name, _, expression = claim.formula.rpartition(" = ")
        shown += f" In symbols, {_escaped(name)}:\n\n$${_latex(expression)}$$"
    summary = decision.summary[:1].upper() + decision.summary[1:]
    why = f" {_escaped(summary)}." if summary else ""
    return [*parts, shown, f"**Verdict: {decision.verdict}.**{why}", f"*{claim.remember}*"]


def _rows(each: DecidedReading) -> Iterable[tuple[str, ...]]:
    for place, finding in enumerate(each.findings):
        held = {True: "yes", False: "no", None: UNKNOWN}[finding.holds]
        yield (each.reading if place == 0 else "", finding.label, *cells(finding), held)


def _table(header: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    lines = [header, ["---"] * len(header), *(map(_escaped, row) for row in rows)]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def _escaped(text: str) -> str:
    return text.replace("|", r"\|").replace("**", r"\*\*")


@lru_cache(maxsize=128)
def _latex(expression: str) -> str:
    """Typeset one of the claims' own formulas, with commands that GitHub renders."""
    import sympy

    names = ("a", "b", "c", "d", "h", "l", "n", "s", "v", "w", "V", "eps")
    symbols = {name: sympy.Symbol(name, positive=True) for name in names}
    typeset = {symbols["eps"]: r"\varepsilon", symbols["l"]: r"\ell"}
    text: str = sympy.latex(sympy.sympify(expression, locals=symbols), symbol_names=typeset)
    return text.replace(r"\operatorname{erf}", r"\mathrm{erf}")
