"""Each wait of a test has an end: what hangs fails with what it waited for, and holds up no run.

The judges of `tests/reliability` are processes whose time has an end already (`running.py`).
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import pytest

ROOT: Final = Path(__file__).resolve().parents[2]
OWN_LIMITS: Final = ("tests/reliability", "tests/mcp", "tests/waiting.py")
# NOTE: the time limit of a test cancels what its event loop awaits.
AWAITED_BY: Final = ("wait_for", "create_task", "ensure_future", "gather")
INSTEAD: Final = {
    "join": "join() of tests/waiting.py",
    "wait": "wait(PATIENCE), with an assert around that of an event",
    "to_thread": "to_thread(event.wait, PATIENCE)",
    "communicate": "communicate(timeout=PATIENCE)",
    "run": "run_program() of tests/waiting.py",
    "Thread": "start() of tests/waiting.py: the thread does not hold up the end of the process",
    "ThreadPoolExecutor": "Threads of tests/waiting.py",
    "urlopen": "urlopen(..., timeout=PATIENCE)",
    "create_connection": "create_connection(..., timeout=PATIENCE)",
    "HTTPConnection": "HTTPConnection(..., timeout=PATIENCE)",
}


def find_endless(code: str) -> Iterator[tuple[int, str]]:
    """The line of each wait without an end, and what is called there."""
    tree = ast.parse(code)
    parents = {child: node for node in ast.walk(tree) for child in ast.iter_child_nodes(node)}
    for node in ast.walk(tree):
        if isinstance(node, ast.Call):
            owner, _, name = ast.unparse(node.func).rpartition(".")
            if name in INSTEAD and _is_endless(node, owner, name, parents[node]):
                yield node.lineno, name


def _is_endless(call: ast.Call, owner: str, name: str, around: ast.AST) -> bool:
    given = {keyword.arg for keyword in call.keywords}
    match name:
        case "join":
            return bool(owner) and not call.args and not given
        case "wait":
            awaited = isinstance(around, ast.Await | ast.GeneratorExp) or (
                isinstance(around, ast.Call)
                and ast.unparse(around.func).rpartition(".")[2] in AWAITED_BY
            )
            return not (awaited or call.args or given)
        case "to_thread":
            # A number is a guess of how long it takes, and nobody looks at what comes of it.
            guessed = len(call.args) == 1 or isinstance(call.args[1], ast.Constant)
            return guessed and ast.unparse(call.args[0]).endswith(".wait")
        case "run":
            return owner == "subprocess" and "timeout" not in given
        case "Thread":
            return "daemon" not in given
        case "ThreadPoolExecutor":
            return True
        case "create_connection":
            return len(call.args) < 2 and "timeout" not in given
    return "timeout" not in given


def test_no_test_waits_without_an_end() -> None:
    files = [*ROOT.glob("tests/**/*.py"), *ROOT.glob("plugins/*/tests/**/*.py")]
    found = [
        f"{path.relative_to(ROOT)}:{line}: {name}() waits without an end: use {INSTEAD[name]}"
        for path in files
        if not str(path.relative_to(ROOT)).startswith(OWN_LIMITS)
        for line, name in find_endless(path.read_text(encoding="utf-8"))
    ]
    assert len(files) > 400
    assert not found, "\n".join(found)


@pytest.mark.parametrize(
    ("code", "endless"),
    [
        ("thread.join()", True),
        ("thread.join(5)", False),
        ("', '.join(parts)", False),
        ("gate.wait()", True),
        ("await gate.wait()", False),
        ("await wait_for(gate.wait(), 5)", False),
        ("await asyncio.to_thread(gate.wait)", True),
        ("await asyncio.to_thread(gate.wait, 5)", True),
        ("assert await asyncio.to_thread(gate.wait, PATIENCE)", False),
        ("process.communicate('x')", True),
        ("process.communicate(timeout=5)", False),
        ("subprocess.run(command)", True),
        ("asyncio.run(main())", False),
        ("threading.Thread(target=run)", True),
        ("threading.Thread(target=run, daemon=True)", False),
        ("ThreadPoolExecutor(4)", True),
        ("urllib.request.urlopen(url)", True),
        ("socket.create_connection(address)", True),
        ("socket.create_connection(address, 5)", False),
    ],
)
def test_waits_without_an_end_are_found(code: str, endless: bool) -> None:
    assert bool(list(find_endless(code))) is endless
