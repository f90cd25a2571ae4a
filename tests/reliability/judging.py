"""What a goal is: figures with bounds, a way to measure them, and a fault that must break some.

It runs nothing and knows no goal.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, TypeAlias, TypeVar

ROOT = Path(__file__).resolve().parents[2]
SEEDED = Path(__file__).resolve().parent / "seeded"

PATIENCE = float(os.environ.get("TWINFRAME_PATIENCE", "1"))
"""How many times as long a goal may take: more than once where the machine has other work."""

Size: TypeAlias = Literal["full", "smoke"]

T = TypeVar("T")


class NotRun(Exception):
    """The goal cannot be judged here; the text says what is missing and how to get it."""


@dataclass(frozen=True, slots=True)
class Figure:
    """A number that was measured and what is asked of it. Without a relation nothing is asked."""

    name: str
    value: float
    relation: Literal["=", "<=", ">=", ""]
    bound: float

    @property
    def holds(self) -> bool:
        """Whether the number is as asked."""
        match self.relation:
            case "=":
                return self.value == self.bound
            case "<=":
                return self.value <= self.bound
            case ">=":
                return self.value >= self.bound
            case _:
                return True

    def render(self) -> str:
        """As a cell of the table."""
        asked = f" ({self.relation} {self.bound:,g})" if self.relation else ""
        return f"{self.name} {_render_number(self.value)}{asked}"


def exactly(name: str, value: float, bound: float = 0) -> Figure:
    """A figure that must be `bound`."""
    return Figure(name, value, "=", bound)


def at_most(name: str, value: float, bound: float) -> Figure:
    """A figure that must not be over `bound`."""
    return Figure(name, value, "<=", bound)


def at_least(name: str, value: float, bound: float) -> Figure:
    """A figure that must not be under `bound`."""
    return Figure(name, value, ">=", bound)


def told(name: str, value: float) -> Figure:
    """A figure that nothing is asked of."""
    return Figure(name, value, "", 0)


@dataclass(frozen=True, slots=True)
class Trial:
    """One run of a goal: how much of it, below which folder, with which seeded fault ('' none)."""

    folder: Path
    size: Size = "full"
    fault: str = ""
    seed: int = 1

    def pick(self, full: T, smoke: T) -> T:
        """What belongs to the size of this run."""
        return full if self.size == "full" else smoke

    def at_most_when_full(self, name: str, value: float, bound: float) -> Figure:
        """A figure of time or rate: asked for in full runs only, since a smoke run has company."""
        return at_most(name, value, bound) if self.size == "full" else told(name, value)

    def at_least_when_full(self, name: str, value: float, bound: float) -> Figure:
        """The same for one that must not be under `bound`."""
        return at_least(name, value, bound) if self.size == "full" else told(name, value)


def build_fault_environment(fault: str) -> dict[str, str]:
    """What makes each Python process that gets it have the fault; nothing without one."""
    if not fault:
        return {}
    path = os.pathsep.join(filter(None, (str(SEEDED), os.environ.get("PYTHONPATH", ""))))
    return {"TWINFRAME_SEEDED_FAULT": fault, "PYTHONPATH": path}


Judge: TypeAlias = Callable[[Trial], Sequence[Figure]]


@dataclass(frozen=True, slots=True)
class Twin:
    """A fault that the judge of a goal must see.

    `fault` is a name of `seeded/faults.py` or one that the judge itself makes; `seeds` says it in
    words. With it no figure of `breaks` may hold.
    """

    fault: str
    seeds: str
    breaks: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Goal:
    """A promise that is measured, and the faults with which its judge must come out red.

    `asked` has every number of the promise; `scaled` says which of them a run of under five minutes
    cannot reach, and what is done instead. `smoke` goals are part of `make check`. `longest` are
    the seconds that a goal and its twins may take together.
    """

    id: str
    title: str
    asked: str
    judge: Judge
    twins: tuple[Twin, ...]
    scaled: str = ""
    smoke: bool = False
    longest: int = 300


def _render_number(value: float) -> str:
    return f"{value:,.0f}" if float(value).is_integer() else f"{value:,.3g}"
