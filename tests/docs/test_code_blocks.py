"""Every code block of the documents runs: Python, shell and queries against a real service.

A block ```text output``` after a block says what it prints; `...` stands for anything. A block with
a `title="..."` is that file. A block ```diff``` changes a copy of the checkout, in which the shell
blocks after it run.
"""

from __future__ import annotations

import contextlib
import doctest
import io
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
import tomllib
import urllib.request
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
from rdflib import Graph
from sybil import Document, Example, Region, Sybil
from sybil.parsers.markdown import CodeBlockParser
from sybil.parsers.markdown.lexers import FencedCodeBlockLexer

from tests.e2e.server import Server, free_port
from tests.e2e.wire import Wire
from tests.waiting import run_program
from twinframe.demo.building import build_campus, load_ontology

ROOT = Path(__file__).resolve().parents[2]
PAGES = [
    ROOT / "README.md",
    ROOT / "CONTRIBUTING.md",
    *sorted((ROOT / "docs").rglob("*.md")),
    *sorted((ROOT / "plugins").glob("*/README.md")),
]
ADDRESS = "127.0.0.1:8080"
BOLT = "bolt://127.0.0.1:7687"
"""Where drivers find the sample."""
OWN_ADDRESSES = ("127.0.0.1:8081", "127.0.0.1:8082", "127.0.0.1:8083")
"""Where pages start services of their own."""
FLAGS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE


class Page:
    """Runs the blocks of one page in order; names of Python blocks live on between them."""

    def __init__(self, sample: Server | None, folder: Path) -> None:
        self._url = url = sample.url if sample else ""
        self._folder = folder
        self._names: dict[str, Any] = {"__name__": "__docs__"}
        self._addresses = {
            **({ADDRESS: url.removeprefix("http://")} if url else {}),
            **({BOLT: f"bolt://{sample.environment['Bolt__Bind']}"} if sample else {}),
            **{shown: f"127.0.0.1:{free_port()}" for shown in OWN_ADDRESSES},
        }
        self._groups: list[int] = []
        self._search: list[Path] = [folder, folder / "site"]
        self.printed = ""

    def close(self) -> None:
        """End what the page's shell blocks have left running."""
        for group in self._groups:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(group, signal.SIGTERM)
        end = time.monotonic() + 120
        for group in self._groups:
            while _is_running(group) and time.monotonic() < end:
                time.sleep(0.05)
            with contextlib.suppress(ProcessLookupError):
                os.killpg(group, signal.SIGKILL)

    def _adapt(self, text: str) -> str:
        for shown, real in self._addresses.items():
            text = text.replace(shown, real)
        return text

    def _show(self, text: str) -> str:
        for shown, real in self._addresses.items():
            text = text.replace(real, shown)
        return text

    def run_python(self, example: Example) -> None:
        out = io.StringIO()
        code = compile(self._adapt(example.parsed), f"{example.path}:{example.line}", "exec")
        with contextlib.redirect_stdout(out), contextlib.chdir(self._folder):
            exec(code, self._names)  # noqa: S102
        self.printed = out.getvalue()

    def write_file(self, example: Example) -> None:
        name, text = example.parsed
        file = self._folder / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8")

    def apply_diff(self, example: Example) -> None:
        if self._folder.name != "checkout":
            self._folder = checkout = self._folder / "checkout"
            copy_checkout(checkout)
            self._search = [checkout / "src", *checkout.glob("plugins/*/src")]
        done = run_program(
            ["git", "apply", "--whitespace=nowarn", "-"],
            cwd=self._folder,
            env={**os.environ, "GIT_CEILING_DIRECTORIES": str(self._folder.parent)},
            input=example.parsed,
            capture_output=True,
            text=True,
        )
        assert done.returncode == 0, f"{example.path}:{example.line}\n{done.stderr}"

    def run_bash(self, example: Example) -> None:
        # NOTE: what sets the project up cannot run inside its own tests; that it exists is checked.
        text = self._adapt(example.parsed).replace("make ", f"make -n -C {ROOT} ")
        # A plugin is installed where no other test sees it; its code is found in the folder itself.
        text = text.replace("pip install -e .", f"pip install {_OFFLINE} --target site .")
        done = subprocess.Popen(
            ["bash", "-euo", "pipefail", "-c", text],
            cwd=self._folder,
            env={
                **os.environ,
                "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}",
                "PYTHONPATH": os.pathsep.join(map(str, self._search)),
                "Storage__Sqlite__Directory": str(self._folder / "var"),
            },
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )
        self._groups.append(done.pid)
        out, errors = done.communicate(timeout=120)
        assert done.returncode == 0, f"{example.path}:{example.line}\n{out}{errors}"
        self.printed = out

    def run_query(self, example: Example) -> None:
        request = urllib.request.Request(
            f"{self._url}/query",
            json.dumps({"query": example.parsed}).encode(),
            {"Content-Type": "application/json"},
        )
        with urllib.request.urlopen(request, timeout=120) as answer:
            self.printed = "\n".join(json.dumps(row) for row in json.load(answer)["value"])

    def check_output(self, example: Example) -> None:
        checker = doctest.OutputChecker()
        want, got = example.parsed, self._show(self._adapt(self.printed))
        assert checker.check_output(want, got.rstrip() + "\n", FLAGS), (
            f"{example.path}:{example.line}\nexpected:\n{want}\ngot:\n{got}"
        )


_OFFLINE = "--quiet --disable-pip-version-check --no-index --no-deps --no-build-isolation"
_TITLED = re.compile(r'(?:python|toml|js) title="([^"]+)"')
_LEFT_OUT = shutil.ignore_patterns(
    ".*", "node_modules", "var", "build", "dist", "benchmarks", "*.png"
)


def copy_checkout(target: Path) -> None:
    """Copy what a recipe changes: code, tests and pages, without what a build made.

    PERF: with the compiled modules; each process of a recipe would compile all of them anew.
    """
    shutil.copytree(ROOT, target, ignore=_LEFT_OUT)


# What `docs/reference/rdf-mapping.md` says that its names stand for.
_PREFIXES = """
@prefix tf: <urn:twinframe:vocabulary:> .
@prefix p: <urn:twinframe:property:> .
@prefix e: <urn:twinframe:edge:> .
@prefix xsd: <http://www.w3.org/2001/XMLSchema#> .
@prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .
"""


def _is_running(group: int) -> bool:
    try:
        os.killpg(group, 0)
    except ProcessLookupError:
        return False
    return True


def _parsers(page: Page) -> list[Callable[[Document], Iterable[Region]]]:
    run: dict[str, Callable[[Example], object]] = {
        "python": page.run_python,
        "bash": page.run_bash,
        "cypher": page.run_query,
        "sql": page.run_query,
        "json": lambda example: json.loads(example.parsed),
        "toml": lambda example: tomllib.loads(example.parsed),
        "turtle": lambda example: Graph().parse(data=_PREFIXES + example.parsed, format="turtle"),
        "diff": page.apply_diff,
        "text output": page.check_output,
    }

    def evaluate(evaluator: Callable[[Example], object]) -> Callable[[Example], None]:
        def call(example: Example) -> None:
            evaluator(example)

        return call

    def parse_files(document: Document) -> Iterator[Region]:
        lexer = FencedCodeBlockLexer(_TITLED.pattern, {"language": "title", "source": "source"})
        for region in lexer(document):
            title = _TITLED.fullmatch(region.lexemes["title"])
            assert title is not None
            parsed = (title[1], region.lexemes["source"])
            yield Region(region.start, region.end, parsed, evaluate(page.write_file))

    blocks = [CodeBlockParser(language, evaluate(evaluator)) for language, evaluator in run.items()]
    return [*blocks, parse_files]


@pytest.fixture(scope="module")
def sample(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """A service with the sample campus.

    PERF: loaded in bulk; through the vendor's SDK, as `twinframe demo` does, it takes 15 s of a
    processor in each process of the test run.
    """
    bolt = {"Bolt__Enabled": "true", "Bolt__Bind": f"127.0.0.1:{free_port()}"}
    with Server(tmp_path_factory.mktemp("sample"), environment=bolt) as server:
        load_in_bulk(server)
        yield server


def batched(items: Sequence[Any], size: int) -> Iterator[Sequence[Any]]:
    return (items[start : start + size] for start in range(0, len(items), size))


def load_in_bulk(server: Server) -> None:
    campus = build_campus()
    twins, edges = campus.list_twins(), campus.list_relationships()
    wire = Wire(server.port)
    assert wire.call("POST", "/models", load_ontology())[0] == 201
    for path, items in (("/digitaltwins", twins), ("/relationships", edges)):
        for some in batched(items, 1000):
            status, _, document = wire.call("POST", path, some)
            assert status == 200
            assert all(each["isSuccess"] for each in document["results"])
    wire.close()


@pytest.mark.parametrize("path", PAGES, ids=lambda path: str(path.relative_to(ROOT)))
def test_the_code_of_the_page_runs(
    path: Path, request: pytest.FixtureRequest, tmp_path: Path
) -> None:
    # PERF: most pages ask nobody, and each process that runs one would load the sample.
    text = path.read_text(encoding="utf-8")
    asks = any(each in text for each in (ADDRESS, BOLT, "```cypher", "```sql"))
    page = Page(request.getfixturevalue("sample") if asks else None, tmp_path)
    try:
        for example in Sybil(parsers=_parsers(page)).parse(path).examples():
            example.evaluate()
    finally:
        page.close()


def test_no_block_is_of_a_language_that_does_not_run() -> None:
    known = {"python", "bash", "cypher", "sql", "json", "toml", "turtle", "diff"}
    known |= {"text", "text output"}
    unknown = []
    for path in PAGES:
        inside = False
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), start=1):
            if line.lstrip().startswith("```"):
                inside = not inside
                name = line.strip().removeprefix("```")
                if inside and name not in known and not _TITLED.fullmatch(name):
                    unknown.append(f"{path.relative_to(ROOT)}:{number} {line}")
    assert unknown == []
