"""The fixtures for tests of users' code: a graph or a service of its own for each test."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

import twinframe
from tests.unit.library.worlds import MODELS, ROOM, room
from tests.waiting import run_program

USE = """
import asyncio, gc, ssl, sys, urllib.error, urllib.request
import pytest
from azure.core.exceptions import ResourceNotFoundError

pytestmark = pytest.mark.twinframe(models="models", settings={"Graph__MaxPatchOperations": 1})
ROOM = {"$metadata": {"$model": "%s"}}
EXTRA = {"@context": "dtmi:dtdl:context;3", "@id": "dtmi:com:example:extra;1", "@type": "Interface"}
TWO = [{"op": "add", "path": "/name", "value": name} for name in "ab"]

@pytest.mark.parametrize("number", range(2))
def test_the_vendors_client_writes_what_the_library_reads(twinframe_service, number):
    client = twinframe_service.build_client()
    assert twinframe_service.graph.list_twins() == []
    client.upsert_digital_twin("r", {**ROOM, "seats": number})
    assert twinframe_service.graph.read_twin("r")["seats"] == number
    twinframe_service.graph.delete_twin("r")
    with pytest.raises(ResourceNotFoundError):
        client.get_digital_twin("r")
    with urllib.request.urlopen(f"{twinframe_service.url}/health/ready", timeout=100) as answer:
        assert answer.status == 200 and answer.headers["Date"]

def test_pytest_rewrites_the_asserts_of_tests_and_not_of_the_fixtures_modules(twinframe_graph):
    assert "_pytest" in type(sys.modules[__name__].__spec__.loader).__module__
    assert "_pytest" not in type(sys.modules["twinframe.graph.graph"].__spec__.loader).__module__
    assert gc.isenabled()

@pytest.mark.twinframe(files=["graph.ndjson"], models=EXTRA, settings={"Query__MaxRows": 5})
def test_markers_are_joined(twinframe_graph):
    assert [twin["$dtId"] for twin in twinframe_graph.list_twins()] == ["kept"]
    assert EXTRA["@id"] in [model["id"] for model in twinframe_graph.list_models()]
    with pytest.raises(Exception, match="at most 1"):
        twinframe_graph.patch_twin("kept", TWO)

async def write_and_read(service):
    async with service.async_credential, service.build_async_client() as client:
        await client.upsert_digital_twin("r", {**ROOM, "seats": 2})
        rows = [row async for row in client.query_twins("SELECT * FROM DIGITALTWINS")]
        with pytest.raises(ResourceNotFoundError):
            await client.get_digital_twin("s")
    return [row["seats"] for row in rows]

def test_the_vendors_client_awaits(twinframe_service):
    assert asyncio.run(write_and_read(twinframe_service)) == [2]
    assert twinframe_service.authority is None

@pytest.mark.twinframe(tls=True)
def test_by_https_the_client_sends_its_token(twinframe_service):
    assert asyncio.run(write_and_read(twinframe_service)) == [2]
    assert twinframe_service.build_client().get_digital_twin("r")["seats"] == 2
    context = ssl.create_default_context(cafile=twinframe_service.authority)
    url = f"{twinframe_service.url}/digitaltwins/r".replace("127.0.0.1", "localhost")
    with urllib.request.urlopen(url, timeout=100, context=context) as answer:
        assert answer.status == 200 and url.startswith("https:")
    with pytest.raises(urllib.error.URLError, match="CERTIFICATE_VERIFY_FAILED"):
        urllib.request.urlopen(url, timeout=100)

def test_both_fixtures_are_apart(twinframe_graph, twinframe_service):
    twinframe_graph.put_twin("r", ROOM)
    assert twinframe_service.graph.list_twins() == []
    assert twinframe_service.credential.get_token("scope").token
"""

WRONG = """
import pytest

@pytest.mark.twinframe(models="nowhere")
def test_a_folder_that_is_not_there(twinframe_graph):
    pass

@pytest.mark.twinframe(model="models")
def test_an_argument_that_is_not_there(twinframe_graph):
    pass

@pytest.mark.twinframe(files="bad.ndjson")
def test_a_file_with_a_bad_line(twinframe_service):
    pass

@pytest.mark.twinframe(settings={"Qery__Timeout": 1})
def test_a_setting_that_is_not_there(twinframe_service):
    pass
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with models in two files, and a file of a graph that has these models, too."""
    (tmp_path / "models" / "more").mkdir(parents=True)
    (tmp_path / "models" / "room.json").write_text(json.dumps(MODELS[0]), encoding="utf-8")
    rest = tmp_path / "models" / "more" / "rest.json"
    rest.write_text(json.dumps(MODELS[1:]), encoding="utf-8")
    with twinframe.open() as graph:
        graph.create_models(MODELS)
        graph.put_twin("kept", room())
        graph.export_file(tmp_path / "graph.ndjson")
    return tmp_path


def run(folder: Path, text: str) -> str:
    """Run tests in the folder as a user would, with warnings as errors; what pytest prints.

    NOTE: not by `pytester`, which forgets the modules that were loaded meanwhile: numpy cannot be
    loaded twice.
    """
    (folder / "test_it.py").write_text(text, encoding="utf-8")
    options = ["-p", "twinframe.pytest_plugin", "-p", "no:cacheprovider", "--strict-markers"]
    command = [sys.executable, "-m", "pytest", *options, "-W", "error", "--rootdir", str(folder)]
    return run_program(command, cwd=folder, capture_output=True, text=True).stdout


def test_each_test_gets_a_graph_with_what_its_markers_name(folder: Path) -> None:
    printed = run(folder, USE % ROOM)
    assert "== 7 passed in " in printed, printed


def test_what_a_marker_cannot_name_is_an_error_that_says_so(folder: Path) -> None:
    text = (folder / "graph.ndjson").read_text(encoding="utf-8")
    bad = text.replace('"$dtId":"kept"', '"$dtId":"no\\u0000id"')
    assert bad != text
    (folder / "bad.ndjson").write_text(bad, encoding="utf-8")
    printed = run(folder, WRONG)
    assert "== 4 errors in " in printed, printed
    for told in (
        "nowhere, which does not exist",
        "takes the arguments models, files, settings, tls by their names",
        "bad.ndjson, line ",
        "Did you mean Query?",
    ):
        assert told in printed, printed


def test_the_plugin_imports_nothing_before_it_is_used() -> None:
    code = (
        "import sys, pytest; before = set(sys.modules); import twinframe.pytest_plugin; "
        "sys.exit(any(n.startswith('twinframe.') and n != 'twinframe.pytest_plugin' "
        "or n == 'hypothesis' for n in set(sys.modules) - before))"
    )
    assert run_program([sys.executable, "-c", code]).returncode == 0
