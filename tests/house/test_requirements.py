"""Requirements: each distribution requires what it imports, and the core nothing that only tests,
the sample or one plugin use.
"""

from __future__ import annotations

import ast
import sys
import tomllib
from collections.abc import Iterator
from importlib.metadata import packages_distributions
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from tests.waiting import run_program

ROOT = Path(__file__).resolve().parents[2]
DISTRIBUTIONS = [ROOT, *sorted(path.parent for path in (ROOT / "plugins").glob("*/pyproject.toml"))]

OPTIONAL = {
    "twinframe/demo": "demo",
    "twinframe/runtime/instruments/traces.py": "otel",
    "twinframe/pytest_plugin.py": "testing",
    "twinframe/testing": "testing",
    "twinframe_storage_rdf/shacl/__main__.py": "shacl",
}
"""The only files that may import what an extra brings, and the extra."""

NOT_IMPORTED = {"tzdata"}
"""Required for their data. The time zones of `zoneinfo` are not on every system."""


def list_imports(file: Path) -> set[str]:
    """The top-level packages outside the standard library that a file imports to run."""
    found: set[str] = set()
    waiting: list[ast.AST] = [ast.parse(file.read_bytes())]
    while waiting:
        node = waiting.pop()
        if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING":
            waiting += node.orelse
            continue
        if isinstance(node, ast.Import):
            found |= {alias.name.partition(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            found.add(node.module.partition(".")[0])
        waiting += ast.iter_child_nodes(node)
    return found - sys.stdlib_module_names


def read_requirements(project: Path, extra: str | None = None) -> set[str]:
    """What a distribution requires, or what one of its extras adds."""
    table = tomllib.loads((project / "pyproject.toml").read_text("utf-8"))["project"]
    texts = table["optional-dependencies"][extra] if extra else table["dependencies"]
    return {canonicalize_name(Requirement(text).name) for text in texts}


def list_missing(project: Path) -> Iterator[str]:
    providers = packages_distributions()
    required = read_requirements(project)
    for file in sorted((project / "src").rglob("*.py")):
        path = file.relative_to(project / "src")
        own = path.parts[0]
        extras = [extra for start, extra in OPTIONAL.items() if path.is_relative_to(start)]
        allowed = required.union(*(read_requirements(project, extra) for extra in extras))
        for name in sorted(list_imports(file) - {own}):
            if not {canonicalize_name(one) for one in providers.get(name, [name])} & allowed:
                yield f"{path}: {name}"


@pytest.mark.parametrize("project", DISTRIBUTIONS, ids=lambda path: str(path.name))
def test_a_distribution_requires_what_it_imports(project: Path) -> None:
    assert list(list_missing(project)) == []


@pytest.mark.parametrize("project", DISTRIBUTIONS, ids=lambda path: str(path.name))
def test_a_distribution_imports_what_it_requires(project: Path) -> None:
    names = set().union(*(list_imports(file) for file in (project / "src").rglob("*.py")))
    providers = packages_distributions()
    imported = {canonicalize_name(one) for name in names for one in providers.get(name, [name])}
    assert read_requirements(project) - imported - NOT_IMPORTED == set()


@pytest.mark.parametrize("name", ["pytest", "hypothesis", "trustme"])
def test_the_test_kit_without_its_libraries_names_its_extra(name: str) -> None:
    code = f"import sys; sys.modules[{name!r}] = None; import twinframe.testing.factories"
    done = run_program([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.returncode == 1
    wanted = f"twinframe.testing needs {name}, which is not installed: "
    assert wanted + "pip install 'twinframe[testing]'." in done.stderr
