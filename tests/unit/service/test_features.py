"""What is off is not imported; what is on is there before any worker is forked."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

from tests.waiting import run_program

_TOKENS = {
    "Authentication__Enabled": "true",
    "Authentication__Authority": "https://issuer.example",
    "Authentication__Audience": "api",
}
_SOURCE = {
    "Ingestion__Sources__s__Type": "mqtt",
    "Ingestion__Sources__s__Host": "broker.example",
    "Ingestion__Sources__s__Mappings": '[{"topic": "{twin}", "properties": "payload"}]',
}
_SERVE = """
import gc, sys
from twinframe.hooks.installation import load_installation
from twinframe.cli import serve

class Arbiter:
    def __init__(self, *_arguments): ...

    def run(self):
        print(*sys.modules, f"frozen={gc.get_freeze_count() > 10_000}")

serve.LeavingArbiter = Arbiter
serve.Service(load_installation(), None).run()
"""
_BUILD = """
import sys
from twinframe.service.application import create_app
create_app()
print(*sys.modules)
"""


def _list_modules(code: str, folder: Path, **environment: str) -> set[str]:
    done = run_program(
        [sys.executable, "-c", code],
        env={**os.environ, **environment},
        cwd=folder,
        capture_output=True,
        text=True,
        check=True,
    )
    return set(done.stdout.split())


@pytest.mark.parametrize("code", [_SERVE, _BUILD])
def test_a_service_imports_nothing_of_what_is_off(code: str, tmp_path: Path) -> None:
    modules = _list_modules(code, tmp_path)
    assert "twinframe_storage_sqlite.plugin" in modules
    assert not modules & {
        "cryptography",
        "jmespath",
        "jwt",
        "opentelemetry",
        "prometheus_client",
        "rdflib",
        "rich",
        "twinframe.service.control",
        "twinframe.control.hosting.service",
        "twinframe.tokenserver",
        "twinframe_storage_rdf",
    }


@pytest.mark.parametrize(
    ("environment", "module"),
    [
        (_TOKENS, "twinframe.access.authentication.build"),
        (_SOURCE, "twinframe.service.ingestion"),
        ({"Hosting__Enabled": "true"}, "twinframe.control.hosting.service"),
        ({"Control__Enabled": "true", **_TOKENS}, "twinframe.service.control"),
    ],
)
def test_what_is_on_is_imported_before_the_fork(
    environment: dict[str, str], module: str, tmp_path: Path
) -> None:
    assert module in _list_modules(_SERVE, tmp_path, **environment)


def test_workers_need_not_search_what_was_there_before_them(tmp_path: Path) -> None:
    assert "frozen=True" in _list_modules(_SERVE, tmp_path)
