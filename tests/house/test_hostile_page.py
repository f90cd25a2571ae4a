"""Each place that the page on hostile input names exists: it cannot promise what is gone."""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs" / "reference" / "hostile-input.md"
PLACE = re.compile(r"`([^`:]+\.py)::(test_\w+)`")
GOAL = re.compile(r"\bR(\d+)\b")


def test_every_test_that_the_page_names_exists() -> None:
    places = PLACE.findall(PAGE.read_text(encoding="utf-8"))
    assert len(places) > 40
    missing = [
        f"{path}::{name}"
        for path, name in places
        if not (ROOT / path).exists()
        or f"def {name}(" not in (ROOT / path).read_text(encoding="utf-8")
    ]
    assert missing == []


def test_every_row_names_a_test_or_a_goal_that_there_is() -> None:
    rows = [
        line
        for line in PAGE.read_text(encoding="utf-8").splitlines()
        if line.startswith("| ") and not line.startswith(("| input", "| ---"))
    ]
    shown = [row.rsplit(" | ", 1)[1] for row in rows]
    assert [each for each in shown if not PLACE.search(each) and not GOAL.search(each)] == []
    goals = ROOT / "tests" / "reliability" / "goals"
    for number in {int(found) for each in shown for found in GOAL.findall(each)}:
        assert list(goals.glob(f"r{number:02}_*.py")), f"R{number}"
