"""Reads the openCypher TCK's feature files into scenarios, outlines expanded. It runs nothing."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from gherkin.parser import Parser
from gherkin.pickles.compiler import Compiler

from tests.shared import ROOT, find_shared

VARIABLE = "TWINFRAME_TCK"
_SHARED = "conformance/tck/features"
_NAMED_GRAPH = re.compile(r"the (?P<name>\S+) graph")


class NotUnderstood(ValueError):
    """Something in a scenario that this runner does not know."""


@dataclass(frozen=True, slots=True)
class Step:
    """One step: its text without the keyword, and its doc string or its table, if any."""

    text: str
    document: str | None = None
    table: tuple[tuple[str, ...], ...] = ()


@dataclass(frozen=True, slots=True)
class Scenario:
    """One expanded scenario.

    `name` is unique: the file below the folder of the features, the scenario's own name and, for a
    row of an outline, `#` and the row's number from 1.
    """

    name: str
    steps: tuple[Step, ...]

    @property
    def is_temporal(self) -> bool:
        """Whether it is about dates, times and durations, by its file's place."""
        return self.name.startswith("expressions/temporal/")


def find_features() -> Path:
    """The folder of the feature files; skips, saying how to get them, when there is none."""
    folder = find_shared(VARIABLE, _SHARED)
    if next(folder.rglob("*.feature"), None) is None:
        pytest.skip(
            f"{folder} holds no .feature file; get the openCypher TCK "
            f"(github.com/opencypher/openCypher, tck/features) and name its folder in {VARIABLE}"
        )
    inner = folder / "features"
    return inner if inner.is_dir() else folder


def read_scenarios(folder: Path) -> Iterator[Scenario]:
    """All scenarios below the folder, by file name and place in the file."""
    for path in sorted(folder.rglob("*.feature")):
        yield from read_feature(path, path.relative_to(folder).as_posix())


def read_feature(path: Path, shown: str) -> Iterator[Scenario]:
    """The scenarios of one file, which their names call `shown`."""
    document: Any = Parser().parse(path.read_text(encoding="utf-8"))
    document["uri"] = shown
    seen: dict[str, int] = {}
    for pickle in Compiler().compile(document):
        name = f"{shown} {pickle['name']}"
        # NOTE: a pickle of an outline is made from two nodes: the outline and the row.
        if len(pickle["astNodeIds"]) > 1 or name in seen:
            seen[name] = seen.get(name, 0) + 1
            name = f"{name} #{seen[name]}"
        else:
            seen[name] = 1
        yield Scenario(name, tuple(map(_build_step, pickle["steps"])))


def _build_step(step: Mapping[str, Any]) -> Step:
    argument = step.get("argument", {})
    document = argument.get("docString", {}).get("content")
    rows = argument.get("dataTable", {}).get("rows", ())
    table = tuple(tuple(cell["value"] for cell in row["cells"]) for row in rows)
    return Step(step["text"].strip(), document, table)


def read_named_graph(step: str, features: Path) -> str | None:
    """The statement that builds the graph which the step names; None when it names none."""
    found = _NAMED_GRAPH.fullmatch(step)
    if found is None:
        return None
    script = Path("graphs", found["name"], f"{found['name']}.cypher")
    places = (features, features.parent, ROOT.parent / "shared" / "conformance" / "tck")
    for place in places:
        if (place / script).exists():
            return (place / script).read_text(encoding="utf-8")
    raise NotUnderstood(f"the graph {script} is in none of {', '.join(map(str, places))}")
