"""Measures the product's code: sizes, imports, cycles, and the calls of one GET of a twin.

`python -m tests.house.ruler` prints a table; `--lists` adds what lies behind some of its figures,
and `--trace` prints the calls of the GET.
"""

from __future__ import annotations

import ast
import asyncio
import io
import os
import re
import statistics
import sys
import tempfile
import tokenize
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from importlib import import_module
from pathlib import Path
from types import FrameType
from typing import Any

import orjson

ROOT = Path(__file__).resolve().parents[2]
FOLDERS = [ROOT / "src", *sorted((ROOT / "plugins").glob("*/src"))]
# A sentence of a module's docstring that says what the module is not.
DENIAL = re.compile(
    r"\b[Ii]t \w+ (nothing|none|no|nobody|not)\b"
    r"|\b(is|are|does|do|knows?|has|have) (no|not|nothing)\b"
    r"|(^|[.:,;] )(No|Not|Nothing|None|Nobody|Never)\b|\b(not|nothing|never|none) \w*\.?$"
)
WARM, TWIN = 20, "/digitaltwins/ruler"
LIFESPAN: dict[str, Any] = {"type": "lifespan", "asgi": {"version": "3.0"}, "state": {}}


@dataclass
class Module:
    """One file of the product."""

    name: str
    path: Path
    text: str
    tree: ast.Module
    imports: list[Import] = field(default_factory=list)

    @property
    def lines(self) -> int:
        return self.text.count("\n")


@dataclass(frozen=True)
class Import:
    """An import of a module of the product; `kind` is run, function or typing."""

    target: str
    kind: str


def read_modules() -> dict[str, Module]:
    """All modules of the product by dotted name, with their imports of each other."""
    found: dict[str, Module] = {}
    for folder in FOLDERS:
        for path in sorted(folder.rglob("*.py")):
            parts = path.relative_to(folder).with_suffix("").parts
            name = ".".join(parts[:-1] if parts[-1] == "__init__" else parts)
            text = path.read_text(encoding="utf-8")
            found[name] = Module(name, path, text, ast.parse(text))
    for module in found.values():
        module.imports = sorted(
            set(_find_imports(module.tree, found, "run")), key=lambda one: (one.target, one.kind)
        )
    return found


def _find_imports(node: ast.AST, known: Mapping[str, object], kind: str) -> Iterator[Import]:
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.Import):
            yield from (Import(one.name, kind) for one in child.names if one.name in known)
        elif isinstance(child, ast.ImportFrom) and child.module:
            for one in child.names:
                full = f"{child.module}.{one.name}"
                if full in known or child.module in known:
                    yield Import(full if full in known else child.module, kind)
        inner = kind
        if isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef) and kind == "run":
            inner = "function"
        elif isinstance(child, ast.If) and "TYPE_CHECKING" in ast.unparse(child.test):
            inner = "typing"
        yield from _find_imports(child, known, inner)


def count_code(module: Module) -> int:
    """Lines that hold code: neither blank, comment nor docstring."""
    held: set[int] = set()
    for token in tokenize.generate_tokens(io.StringIO(module.text).readline):
        if token.type not in _SILENT:
            held.update(range(token.start[0], token.end[0] + 1))
    for node in ast.walk(module.tree):
        if (
            isinstance(node, ast.Expr)
            and isinstance(node.value, ast.Constant)
            and isinstance(node.value.value, str)
        ):
            held.difference_update(range(node.lineno, (node.end_lineno or node.lineno) + 1))
    return len(held)


_SILENT = {
    tokenize.COMMENT,
    tokenize.NL,
    tokenize.NEWLINE,
    tokenize.INDENT,
    tokenize.DEDENT,
    tokenize.ENCODING,
    tokenize.ENDMARKER,
}


def list_functions(module: Module) -> Iterator[tuple[str, int]]:
    """Each function with the lines of its body, without the docstring."""
    for node in ast.walk(module.tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            body = node.body[1:] if ast.get_docstring(node) else node.body
            size = (body[-1].end_lineno or 0) - body[0].lineno + 1 if body else 0
            yield f"{module.name}:{node.name}", size


def list_public(module: Module) -> Iterator[tuple[str, bool]]:
    """Each public class, function and method, and whether it has a docstring.

    A method that overrides one of a documented base needs none; it is counted as it stands.
    """

    def visit(node: ast.AST, prefix: str) -> Iterator[tuple[str, bool]]:
        for child in ast.iter_child_nodes(node):
            if isinstance(child, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
                if child.name.startswith("_"):
                    continue
                yield f"{prefix}{child.name}", ast.get_docstring(child) is not None
                if isinstance(child, ast.ClassDef):
                    yield from visit(child, f"{prefix}{child.name}.")

    return visit(module.tree, f"{module.name}:")


def find_cycles(edges: Mapping[str, Iterable[str]]) -> list[list[str]]:
    """The sets of nodes that reach each other, two or more in each."""
    index: dict[str, int] = {}
    low: dict[str, int] = {}
    stack: list[str] = []
    found: list[list[str]] = []

    def visit(node: str) -> None:
        index[node] = low[node] = len(index)
        stack.append(node)
        for other in edges.get(node, ()):
            if other not in index:
                visit(other)
                low[node] = min(low[node], low[other])
            elif other in stack:
                low[node] = min(low[node], index[other])
        if low[node] == index[node]:
            group = stack[stack.index(node) :]
            del stack[stack.index(node) :]
            if len(group) > 1:
                found.append(sorted(group))

    sys.setrecursionlimit(10_000)
    for node in edges:
        if node not in index:
            visit(node)
    return found


def list_module_cycles(modules: Mapping[str, Module], kinds: set[str]) -> list[list[str]]:
    """Cycles of modules over imports of these kinds."""
    return find_cycles(
        {
            name: {i.target for i in one.imports if i.kind in kinds and i.target != name}
            for name, one in modules.items()
        }
    )


def list_sibling_cycles(modules: Mapping[str, Module], kinds: set[str]) -> list[list[str]]:
    """Cycles between the members of one package, on every level, each member with all below it."""
    packages: dict[str, dict[str, set[str]]] = defaultdict(lambda: defaultdict(set))
    for name, module in modules.items():
        source = name.split(".")
        for one in module.imports:
            target = one.target.split(".")
            depth = next(
                (i for i, (a, b) in enumerate(zip(source, target, strict=False)) if a != b), 0
            )
            if one.kind in kinds and depth:
                above = ".".join(source[:depth])
                packages[above][source[depth]].add(target[depth])
    return [
        [f"{above}: {', '.join(cycle)}"]
        for above, edges in sorted(packages.items())
        for cycle in find_cycles(edges)
    ]


def trace_get() -> list[str]:
    """The Python calls of one warm GET of a twin, from the application to its complete answer."""
    with tempfile.TemporaryDirectory() as folder:
        os.environ |= {"Storage__Provider": "sqlite", "Storage__Sqlite__Directory": folder}
        os.environ |= {"Logging__Access": "false"}  # else standard output has lines of the log
        app = import_module("twinframe.asgi").app
        return asyncio.run(_serve(app))


async def _serve(app: Any) -> list[str]:
    events: asyncio.Queue[dict[str, str]] = asyncio.Queue()
    answers: asyncio.Queue[dict[str, Any]] = asyncio.Queue()
    life = asyncio.create_task(app(LIFESPAN, events.get, answers.put))
    await events.put({"type": "lifespan.startup"})
    assert (await answers.get())["type"] == "lifespan.startup.complete"
    calls: list[str] = []

    def listen(frame: FrameType, event: str, _argument: object) -> None:
        if event == "call":
            calls.append(f"{frame.f_globals.get('__name__')}:{frame.f_code.co_qualname}")

    model = {"@id": "dtmi:a;1", "@type": "Interface", "@context": "dtmi:dtdl:context;3"}
    twin = {"$metadata": {"$model": "dtmi:a;1"}}
    assert await _send(app, "POST", "/models", [model]) == 201
    assert await _send(app, "PUT", TWIN, twin) == 200
    for _ in range(WARM):
        assert await _send(app, "GET", TWIN) == 200
    assert await _send(app, "GET", TWIN, listen=listen) == 200
    await events.put({"type": "lifespan.shutdown"})
    await life
    return [call for call in calls if not call.startswith("asyncio.")]  # the queues of this file


async def _send(
    app: Any, method: str, path: str, document: object = None, listen: Any = None
) -> int:
    body = b"" if document is None else orjson.dumps(document)
    headers = [(b"host", b"localhost"), (b"content-length", str(len(body)).encode())]
    scope = {
        "type": "http",
        "asgi": {"version": "3.0", "spec_version": "2.3"},
        "http_version": "1.1",
        "method": method,
        "scheme": "http",
        "path": path,
        "raw_path": path.encode(),
        "query_string": b"api-version=2023-10-31",
        "root_path": "",
        "headers": [*headers, (b"content-type", b"application/json")][: 3 if body else 1],
        "client": ("192.0.2.1", 50000),
        "server": ("127.0.0.1", 8080),
        "state": {},
    }
    requests: asyncio.Queue[dict[str, Any]] = asyncio.Queue()
    requests.put_nowait({"type": "http.request", "body": body, "more_body": False})
    answers: asyncio.Queue[dict[str, Any]] = asyncio.Queue()
    sys.setprofile(listen)
    try:
        await app(scope, requests.get, answers.put)
    finally:
        sys.setprofile(None)
    return int(answers.get_nowait()["status"])


def _share(values: list[int], share: float) -> int:
    return sorted(values)[int(share * (len(values) - 1))]


def measure(modules: Mapping[str, Module], calls: list[str]) -> list[tuple[str, object]]:
    """The figures in the order of the table."""
    sizes = [size for one in modules.values() for _, size in list_functions(one)]
    importers = list_importers(modules)
    lonely = [name for name, by in importers.items() if len(by) == 1]
    public = [documented for one in modules.values() for _, documented in list_public(one)]
    rooms = {".".join(name.split(".")[:2]) for name in modules if name.startswith("twinframe.")}
    packages = {name for name, one in modules.items() if one.path.name == "__init__.py"}
    lines = [one.lines for one in modules.values()]
    own = [call for call in calls if call.startswith("twinframe")]
    run, late, every = {"run"}, {"run", "function"}, {"run", "function", "typing"}
    return [
        ("packages of the core, top level", len(rooms & packages)),
        ("packages, all levels", len(packages)),
        ("modules", len(modules)),
        ("lines", sum(lines)),
        ("lines without docstrings, comments, blank", sum(map(count_code, modules.values()))),
        ("lines a module: median / 95th / longest", _spread(lines)),
        ("modules over 500 lines", sum(size > 500 for size in lines)),
        ("functions", len(sizes)),
        ("lines a function: median / 95th / longest", _spread(sizes)),
        ("modules with exactly one importer", len(lonely)),
        ("  those under 90 lines", sum(modules[name].lines < 90 for name in lonely)),
        ("imports between modules of the product", sum(len(m.imports) for m in modules.values())),
        ("import statements", sum(map(_count_statements, modules.values()))),
        ("cycles of modules at run time", len(list_module_cycles(modules, run))),
        ("  with imports inside functions", len(list_module_cycles(modules, late))),
        ("  with type-checking imports too", len(list_module_cycles(modules, every))),
        ("cycles between siblings at run time", len(list_sibling_cycles(modules, run))),
        ("  with all imports", len(list_sibling_cycles(modules, every))),
        ("calls of one GET of a twin", len(own)),
        ("  with those in libraries", len(calls)),
        ("  modules of ours they are in", len({call.partition(":")[0] for call in own})),
        ("public definitions documented", f"{sum(public)} of {len(public)}"),
        ("modules whose docstring says what they are not", len(list_denials(modules))),
    ]


def _spread(values: list[int]) -> str:
    return f"{statistics.median(values):g} / {_share(values, 0.95)} / {max(values)}"


def _count_statements(module: Module) -> int:
    return sum(isinstance(n, ast.Import | ast.ImportFrom) for n in ast.walk(module.tree))


def list_importers(modules: Mapping[str, Module]) -> dict[str, set[str]]:
    """Each module that is no package with the modules that import it."""
    found: dict[str, set[str]] = {
        name: set() for name, one in modules.items() if one.path.name != "__init__.py"
    }
    for name, module in modules.items():
        for one in module.imports:
            if one.target in found:
                found[one.target].add(name)
    return found


def list_denials(modules: Mapping[str, Module]) -> list[str]:
    """Modules whose docstring has a sentence that denies something, with that sentence."""
    found = []
    for name, module in modules.items():
        text = " ".join((ast.get_docstring(module.tree) or "").split())
        for sentence in re.split(r"(?<=[.:;]) ", text):
            if DENIAL.search(sentence):
                found.append(f"{name}: {sentence}")
                break
    return found


def main() -> int:
    """Print the table; see the head of this file for the options."""
    modules = read_modules()
    calls = trace_get()
    for title, value in measure(modules, calls):
        print(f"{title:<52}{value:>18}")
    if "--trace" in sys.argv:
        print("\nThe calls of one GET:", *calls, sep="\n  ")
    if "--lists" in sys.argv:
        every = {"run", "function", "typing"}
        large = [f"{one.lines} {name}" for name, one in modules.items() if one.lines > 500]
        cycles = list_module_cycles(modules, every) + list_sibling_cycles(modules, every)
        lonely = [
            f"{modules[name].lines} {name} <- {next(iter(by))}"
            for name, by in list_importers(modules).items()
            if len(by) == 1
        ]
        print("\nModules over 500 lines:", *sorted(large), sep="\n  ")
        print("\nCycles:", *(" ".join(cycle) for cycle in cycles), sep="\n  ")
        print("\nModules with one importer:", *sorted(lonely), sep="\n  ")
        print("\nDocstrings that deny:", *list_denials(modules), sep="\n  ")
    return 0


if __name__ == "__main__":
    sys.exit(main())
