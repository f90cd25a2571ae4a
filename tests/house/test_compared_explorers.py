"""The page that compares explorers names a test of a browser for each row, and each exists."""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs" / "how-to" / "compare-explorers.md"
SPECS = ROOT / "plugins" / "explorer" / "web" / "e2e"
TRIED = re.compile(r"^`([\w-]+\.spec\.ts)`: (.+)$")
UNTRIED = {"licence"}


def _read_rows(columns: int) -> list[list[str]]:
    """The cells of the rows of tables with so many columns, without their heads."""
    lines = PAGE.read_text(encoding="utf-8").splitlines()
    rows = [line.strip("| ").split(" | ") for line in lines if line.startswith("| ")]
    return [row for row in rows if len(row) == columns and row[0] not in {"what", "---"}]


def test_each_row_of_the_comparison_names_a_test() -> None:
    compared = [row[0] for row in _read_rows(6)]
    assert len(compared) > 40
    assert len(set(compared)) == len(compared)
    tried = {row[0] for row in _read_rows(2)}
    assert set(compared) - UNTRIED == tried


def test_each_test_that_the_comparison_names_exists() -> None:
    missing = []
    for _, cell in _read_rows(2):
        found = TRIED.match(cell)
        assert found is not None, cell
        spec = SPECS / found[1]
        if not spec.exists() or f'test("{found[2]}"' not in spec.read_text(encoding="utf-8"):
            missing.append(cell)
    assert missing == []
