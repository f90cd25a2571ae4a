"""Each seeded fault still finds what it replaces: a twin without its fault would stay green."""

from __future__ import annotations

import ast
import importlib
import inspect
import runpy
import textwrap
from collections.abc import Iterator
from operator import attrgetter
from pathlib import Path
from types import FunctionType
from typing import Any

import pytest

from tests.reliability.judging import ROOT

SEEDED = Path(ROOT) / "tests" / "reliability" / "seeded" / "faults.py"
FAULTS: dict[str, tuple[tuple[str, FunctionType], ...]] = runpy.run_path(str(SEEDED))["FAULTS"]
ADDED = {"late"}
"""What a fault keeps of its own on an object of the service."""


def list_chains(function: FunctionType) -> Iterator[tuple[str, ...]]:
    """The attributes that a fault names, from the variable on: `("module", "Guard", "handle")`."""
    source = SEEDED.read_text(encoding="utf-8").splitlines()
    first = function.__code__.co_firstlineno - 1
    tree = ast.parse(
        textwrap.dedent("\n".join(inspect.getblock([f"{e}\n" for e in source[first:]])))
    )
    for node in ast.walk(tree):
        names, inner = [], node
        while isinstance(inner, ast.Attribute):
            names.append(inner.attr)
            inner = inner.value
        if names and isinstance(inner, ast.Name):
            yield (inner.id, *reversed(names))


@pytest.mark.parametrize(
    ("name", "patch"),
    [
        pytest.param(name, patch, id=f"{fault}-{name}")
        for fault, patches in FAULTS.items()
        for name, patch in patches
    ],
)
def test_what_a_fault_replaces_is_there(name: str, patch: Any) -> None:
    module = importlib.import_module(name)
    source = inspect.getsource(module)
    found = 0
    for variable, *names in list_chains(patch):
        if variable == "module":
            attrgetter(".".join(names))(module)
            found += 1
        elif variable == "self" and names[0] not in ADDED and not names[0].startswith("__"):
            assert f".{names[0]}" in source, f"nothing of {name} has the attribute {names[0]}"
    assert found
