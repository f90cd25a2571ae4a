"""A port that a test chose is its own until its server listens there."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import pytest

ROOT: Final = Path(__file__).resolve().parents[2]
CHOOSES: Final = "tests/e2e/server.py"


def find_given_back(code: str) -> Iterator[int]:
    """The line of each `with` that binds a socket to any port and closes it without listening."""
    for node in ast.walk(ast.parse(code)):
        if isinstance(node, ast.With):
            called = {
                each.func.attr: ast.unparse(each)
                for each in ast.walk(node)
                if isinstance(each, ast.Call) and isinstance(each.func, ast.Attribute)
            }
            if called.get("bind", "").endswith(", 0))") and "listen" not in called:
                yield node.lineno


def test_no_test_gives_a_port_back_before_its_server_has_it() -> None:
    files = [*ROOT.glob("tests/**/*.py"), *ROOT.glob("plugins/*/tests/**/*.py")]
    found = [
        f"{path.relative_to(ROOT)}:{line}: use free_port() of {CHOOSES}"
        for path in files
        for line in find_given_back(path.read_text(encoding="utf-8"))
    ]
    assert len(files) > 400
    assert not found, "\n".join(found)


@pytest.mark.parametrize(
    ("lines", "given_back"),
    [
        ("probe.bind(('127.0.0.1', 0))\n    port = probe.getsockname()[1]", True),
        ("probe.bind(('127.0.0.1', 0))\n    probe.listen()", False),
        ("probe.bind(('127.0.0.1', port))", False),
    ],
)
def test_a_port_that_is_given_back_is_found(lines: str, given_back: bool) -> None:
    assert bool(list(find_given_back(f"with socket.socket() as probe:\n    {lines}"))) is given_back
