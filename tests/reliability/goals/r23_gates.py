"""R23: what a service must not start with: an old library, a missing parser, the wrong file."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Sequence

from tests.e2e.server import free_port
from tests.reliability.judging import Figure, Goal, Trial, Twin, exactly
from tests.reliability.suites import run_tests

_DIAGNOSIS = "tests/unit/runtime/diagnosis/test_diagnosis.py"
_ENGINE = "plugins/storage-rdf/tests/test_oxigraph_engine.py"
TESTS = (
    "plugins/storage-sqlite/tests/test_sqlite_opening.py",
    f"{_ENGINE}::test_two_openers_of_one_directory_are_refused",
    f"{_DIAGNOSIS}::test_a_log_needs_a_file_system_of_this_machine",
    f"{_DIAGNOSIS}::test_a_missing_library_is_said_with_the_way_to_have_it",
    "tests/unit/cli/test_check_command.py",
    "tests/unit/cli/test_serve_process.py",
    "tests/unit/cli/test_serve_by_hand.py",
    "tests/unit/hooks/test_plugin_loading.py",
)
WITHOUT_PARSER = (
    "import sys; sys.modules['httptools'] = None; sys.argv = ['twinframe', 'serve']; "
    "from twinframe.cli.main import main; main()"
)


def judge(trial: Trial) -> Sequence[Figure]:
    """The tests of opening a file, of `check`, of the start of `serve`, of loading plugins."""
    figures = run_tests(trial, TESTS if not trial.fault else TESTS[:1]).list_figures(40)
    ended, said = _serve_without_parser(trial)
    return [*figures, exactly("service without httptools", 1 - ended), exactly("reason", said, 1)]


def _serve_without_parser(trial: Trial) -> tuple[int, int]:
    """Whether the service ends by itself, and says what is missing."""
    settings = {
        "Server__Bind": f"127.0.0.1:{free_port()}",
        "Storage__Sqlite__Directory": str(trial.folder / "data"),
    }
    try:
        done = subprocess.run(
            [sys.executable, "-c", WITHOUT_PARSER],
            cwd=trial.folder,
            env={**os.environ, **settings},
            capture_output=True,
            text=True,
            timeout=60,
        )
    except subprocess.TimeoutExpired:
        return 0, 0
    return int(done.returncode != 0), int("httptools" in done.stderr)


GOAL = Goal(
    id="R23",
    title="gates at the start",
    asked="SQLite ≥ 3.51.3, httptools there, WAL on a local file system, one opener of a store of "
    "triples, the file's instance matches, plugins load: else the service exits with a reason",
    judge=judge,
    twins=(
        Twin(
            fault="any-library",
            seeds="any version of SQLite is taken",
            breaks=("tests failed",),
        ),
    ),
)
