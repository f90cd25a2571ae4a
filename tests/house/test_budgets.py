"""The size budgets of the house: small files, small functions."""

from __future__ import annotations

import ast
import statistics
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
SOURCES = sorted(
    path
    for folder in [ROOT / "src", *sorted((ROOT / "plugins").glob("*/src"))]
    for path in folder.rglob("*.py")
)


def _percentile(values: list[int], share: float) -> int:
    return sorted(values)[int(share * (len(values) - 1))]


def _body_lines(node: ast.FunctionDef | ast.AsyncFunctionDef) -> int:
    body = node.body[1:] if ast.get_docstring(node) else node.body
    if not body:
        return 0
    return (body[-1].end_lineno or body[-1].lineno) - body[0].lineno + 1


def _functions() -> Iterator[tuple[str, int]]:
    for path in SOURCES:
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                yield f"{path.relative_to(ROOT)}:{node.lineno} {node.name}", _body_lines(node)


def test_no_file_is_over_700_lines_and_few_are_over_500() -> None:
    lengths = {
        str(path.relative_to(ROOT)): path.read_text(encoding="utf-8").count("\n")
        for path in SOURCES
    }
    assert {name: size for name, size in lengths.items() if size > 700} == {}
    assert _percentile(list(lengths.values()), 0.95) <= 500
    assert statistics.median(lengths.values()) <= 200


def test_no_function_body_is_over_80_lines_and_few_are_over_35() -> None:
    sizes = dict(_functions())
    assert {name: size for name, size in sizes.items() if size > 80} == {}
    assert _percentile(list(sizes.values()), 0.95) <= 35


def test_every_module_says_what_it_is() -> None:
    silent = [
        str(path.relative_to(ROOT))
        for path in SOURCES
        if path.read_text(encoding="utf-8").strip()
        and not ast.get_docstring(ast.parse(path.read_text(encoding="utf-8")))
    ]
    assert silent == []


def test_every_distribution_is_typed() -> None:
    packages = [ROOT / "src/twinframe", *sorted((ROOT / "plugins").glob("*/src/*"))]
    assert [p.name for p in packages if p.is_dir() and not (p / "py.typed").exists()] == []
