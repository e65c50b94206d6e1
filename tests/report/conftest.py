"""The committed pages, and what ``derive`` would write now from the committed measurements."""

from functools import lru_cache
from pathlib import Path

from varprop.report.derive import outputs

ROOT = Path(__file__).parents[2]
DERIVATIONS = ROOT / "derivations"
WRITTEN = {path.name: path.read_text(encoding="utf-8") for path in DERIVATIONS.glob("*.md")}
PAGES = {name: text for name, text in sorted(WRITTEN.items()) if name != "claims.md"}


@lru_cache
def fresh() -> dict[Path, str]:
    """Every file as ``derive`` writes it, which takes a quarter of a minute."""
    return outputs(DERIVATIONS)
