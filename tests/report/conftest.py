"""The pages as ``derive`` would write them now, from the committed measurements."""

from pathlib import Path

from varprop.report.derive import outputs

ROOT = Path(__file__).parents[2]
DERIVATIONS = ROOT / "derivations"
OUTPUTS = outputs(DERIVATIONS)
WRITTEN = {path.name: text for path, text in OUTPUTS.items() if path.suffix == ".md"}
PAGES = {name: text for name, text in WRITTEN.items() if name != "claims.md"}
