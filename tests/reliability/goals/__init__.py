"""The goals R1 to R39 in their order, a module each. Nothing starts when they are imported."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path
from typing import Final

from tests.reliability.judging import Goal

_MODULES = sorted(path.stem for path in Path(__file__).parent.glob("r[0-9][0-9]_*.py"))

GOALS: Final[tuple[Goal, ...]] = tuple(
    import_module(f"tests.reliability.goals.{name}").GOAL for name in _MODULES
)
