"""The pages as ``derive`` would write them now, from the committed measurements."""

from pathlib import Path

from varprop.report.derive import outputs

ROOT = Path(__file__).parents[2]
DERIVATIONS = ROOT / "derivations"
OUTPUTS = outputs(DERIVATIONS)
PAGES = {path.name: text for path, text in OUTPUTS.items() if path.suffix == ".md"}
