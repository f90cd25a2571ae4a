"""Golden plans: each file of `golden/` holds a query, a line `---`, and the plan it must become.

`TWINFRAME_UPDATE_GOLDEN=1` writes the plans anew; read the difference before committing it.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable

GOLDEN = Path(__file__).parent / "golden"
FILES = sorted(GOLDEN.rglob("*.txt"))


@pytest.mark.parametrize("file", FILES, ids=lambda file: f"{file.parent.name}/{file.stem}")
def test_a_query_becomes_its_golden_plan(file: Path, plan: Callable[[str], str]) -> None:
    query, _, expected = file.read_text(encoding="utf-8").partition("\n---\n")
    found = plan(query)
    if os.environ.get("TWINFRAME_UPDATE_GOLDEN"):
        file.write_text(f"{query}\n---\n{found}\n", encoding="utf-8")
    else:
        assert found + "\n" == expected


def test_both_languages_have_golden_plans() -> None:
    assert {file.parent.name for file in FILES} == {"cypher", "adt"}
