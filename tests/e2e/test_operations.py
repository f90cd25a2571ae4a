"""One service between hostile callers and a rough operator: plain answers, nothing changed, no end.

The tests share a server; none of them may leave it worse than it was.
"""

from __future__ import annotations

import contextlib
import http.client
import json
import os
import re
import signal
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from urllib.parse import quote

import pytest

from tests.e2e.server import Server
from tests.e2e.wire import COUNTER_MODEL, Json, Wire, counter
from twinframe.runtime.locks import hold_lock

MODEL = str(COUNTER_MODEL["@id"])
FILLED = {
    "twin_id": "a",
    "component": "none",
    "relationship_id": "r",
    "model_id": quote(MODEL, safe=""),
    "route_id": "x",
    "derivation_id": "x",
    "workspace_id": "x",
    "job_id": "x",
    "upload_id": "x",
    "number": "0",
    "name": "none.css",
    "path": "value",
}
BODIES: dict[str, bytes] = {
    "empty": b"",
    "a scalar": b"1",
    "a patch in a string": json.dumps('[{"op":"remove","path":"/value"}]').encode(),
    "an array of numbers": b"[1]",
    "cut off": b'{"value":',
    "more behind": b"{} {}",
    "a key twice": b'{"query":"RETURN 1 AS x","query":"RETURN 2 AS x","op":"add","op":"test"}',
    "a key twice, escaped once": b'{"$dtId":"a","\\u0024dtId":"b"}',
    "NaN": b'{"value":NaN}',
    "a number without end": b'{"value":' + b"9" * 5000 + b"}",
    "1e999": b'{"value":1e999}',
    "2 to the 64th": b'{"value":18446744073709551616}',
    "100,000 deep": b"[" * 100_000,
    "65 deep": b'{"a":' * 65 + b"1" + b"}" * 65,
    "not UTF-8": b'{"value":"\xff"}',
    "a surrogate in UTF-8": b'{"value":"\xed\xa0\x80"}',
    "a lone surrogate": b'[{"op":"add","path":"/\\ud800","value":"\\ud800"}]',
    "U+0000": b'{"query":"\\u0000","value":"a\\u0000"}',
    "a byte order mark": b"\xef\xbb\xbf{}",
    "UTF-16": '{"value":1}'.encode("utf-16"),
    # NOTE: in less than a mebibyte, which every operation takes; what it does not take is 413.
    "100,001 keys": b"{" + b",".join(b'"%x":1' % n for n in range(100_001)) + b"}",
    "no model": b'{"value":1}',
    "an unknown model": b'{"$metadata":{"$model":"dtmi:com:example:Nothing;1"},"value":1}',
    "a wrong value": b'{"$metadata":{"$model":"dtmi:com:example:Counter;1"},"value":"x"}',
    "no target": b'{"$relationshipName":"next","$targetId":"nobody"}',
    "a copying patch": b'[{"op":"copy","from":"/value","path":"/$dtId"}]',
    "a patch of the root": b'[{"op":"replace","path":"","value":{}}]',
    "a patch too long": b"[" + b",".join([b'{"op":"remove","path":"/value"}'] * 1001) + b"]",
    "a broken query": b'{"query":"MATCH (n RETURN n"}',
    "a broken token": b'{"continuationToken":"x"}',
    "parameters in a list": b'{"query":"RETURN $x AS x","parameters":[1]}',
    "a parameter too few": b'{"query":"RETURN $x AS x"}',
}
TAKES_ANYTHING = re.compile(r".*/telemetry")  # SPEC: the vendor asks of telemetry to be JSON only

TELLS_OF_EACH = ("/digitaltwins", "/relationships")  # of arrays, item by item
# Its bodies are bytes of a file, and these are JSON.
TAKES_BYTES = "/jobs/uploads/x/pieces/0"
TAKES_NO_BODY = "/jobs/deletions"  # without one it is right, and deletes the graph


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    environment = {
        "Storage__WriteWait": "0.5",
        "Storage__Sqlite__TurnTimeout": "0.5",
        "Server__WorkerTimeout": "4",
    }
    running = Server(tmp_path_factory.mktemp("rough"), workers=2, environment=environment)
    with running:
        wire = Wire(running.port)
        assert wire.call("POST", "/models", [COUNTER_MODEL])[0] == 201
        for twin in ("a", "b", "c"):
            assert wire.call("PUT", f"/digitaltwins/{twin}", counter(1))[0] == 200
            path = f"/digitaltwins/a/relationships/to-{twin}"
            body = {"$relationshipName": "next", "$targetId": twin}
            assert wire.call("PUT", path, body)[0] == (400 if twin == "a" else 200)
        wire.close()
        yield running
    log = running.log.read_text(encoding="utf-8")
    assert "Traceback" not in log, log[-4000:]


@pytest.fixture
def wire(service: Server) -> Iterator[Wire]:
    made = Wire(service.port)
    yield made
    made.close()


def send(service: Server, method: str, path: str, body: bytes | None) -> tuple[int, str, bytes]:
    """Status, error code of the header and body, on a connection of its own."""
    connection = http.client.HTTPConnection("127.0.0.1", service.port, timeout=120)
    kind = "application/json-patch+json" if method == "PATCH" else "application/json"
    connection.request(method, path, body, {"Content-Type": kind})
    answer = connection.getresponse()
    found = answer.status, answer.getheader("x-ms-error-code", ""), answer.read()
    connection.close()
    return found


def read_graph(service: Server) -> list[Json]:
    paths = ("/digitaltwins/a", "/digitaltwins/b", "/digitaltwins/a/relationships", "/models")
    found = [json.loads(send(service, "GET", path, None)[2]) for path in paths]
    count = b'{"query":"SELECT COUNT() FROM DIGITALTWINS"}'
    return [*found, json.loads(send(service, "POST", "/query", count)[2])]


def judge(status: int, code: str, body: bytes) -> str:
    """What is wrong with the answer to a request that has to be refused; empty if nothing is."""
    if status not in {400, 404, 405, 501}:
        return f"status {status}"
    document = json.loads(body)
    if "errors" in document:  # the vendor's problem document for patches of non-objects
        return ""
    error = document["error"]
    if not error["message"].strip() or set(error) - {"code", "message", "details"}:
        return f"envelope {document}"
    return "" if error["code"] in {code, "BadRequest"} else f"code {error['code']}, header {code}"


def list_operations(service: Server) -> dict[str, set[str]]:
    document = json.loads(send(service, "GET", "/openapi.json", None)[2])
    return {
        re.sub(r"\{(\w+)\}", lambda found: FILLED[found[1]], path): {m.upper() for m in methods}
        for path, methods in document["paths"].items()
    }


def test_wrong_bodies_are_refused_everywhere_and_change_nothing(service: Server) -> None:
    before = read_graph(service)
    wrong = []
    for path, methods in list_operations(service).items():
        for method in methods & {"PUT", "POST", "PATCH"}:
            for name, body in BODIES.items():
                if path == TAKES_NO_BODY and not body.strip():
                    continue
                status, code, answer = send(service, method, path, body)
                if path == TAKES_BYTES and (status, code) == (415, "UnsupportedMediaType"):
                    continue
                if TAKES_ANYTHING.fullmatch(path) and status == 204:
                    continue
                if path in TELLS_OF_EACH and status == 200:
                    results = json.loads(answer)["results"]
                    if not any(result["isSuccess"] for result in results):
                        continue
                if fault := judge(status, code, answer):
                    wrong.append(f"{method} {path}, {name}: {fault}")
    assert wrong == []
    assert read_graph(service) == before


def test_a_method_that_a_path_lacks_is_refused_with_the_ones_it_has(service: Server) -> None:
    wrong = []
    for path, methods in list_operations(service).items():
        for method in {"GET", "PUT", "POST", "PATCH", "DELETE", "TRACE", "PROPFIND"} - methods:
            status, code, _ = send(service, method, path, None)
            if (status, code) != (405, "MethodNotAllowed"):
                wrong.append(f"{method} {path}: {status} {code}")
    assert wrong == []


@pytest.mark.parametrize(
    "segment", ["%00", "%0d%0a", "%FF", "%ED%A0%80", "%zz", "%", "..", "%2e%2e", "%EF%BF%BD"]
)
def test_an_id_that_is_none_is_refused_wherever_one_stands(service: Server, segment: str) -> None:
    for path in ("/digitaltwins/{}", "/digitaltwins/a/relationships/{}", "/models/{}"):
        for method, body in (("GET", None), ("PUT", b"{}"), ("DELETE", None)):
            found = send(service, method, path.format(segment), body)
            assert found[:2] == (400, "InvalidArgument"), (method, path, found)


def test_a_tampered_token_is_refused_at_every_place(wire: Wire) -> None:
    page = {"query": "SELECT * FROM DIGITALTWINS"}
    token = wire.call("POST", "/query", page, max_items_per_page="1")[2]["continuationToken"]
    assert wire.call("POST", "/query", {"continuationToken": token})[0] == 200
    for place in range(len(token)):
        other = "A" if token[place] != "A" else "B"
        bad = token[:place] + other + token[place + 1 :]
        status, _, document = wire.call("POST", "/query", {"continuationToken": bad})
        assert (status, document["error"]["code"]) == (400, "BadRequest"), place
    for path in ("/models", "/digitaltwins/a/relationships"):
        answer = wire.call("GET", f"{path}?continuationToken={quote(token, safe='')}")
        assert answer[2]["error"]["code"] == "BadRequest"


@contextlib.contextmanager
def holding_the_turn(service: Server) -> Iterator[None]:
    """As a process does that is frozen while it writes."""
    with hold_lock(service.folder / "data" / "default.turn.lock", 120) as lock:
        assert lock is not None, "the lock did not come free"
        yield


def list_workers(service: Server) -> set[int]:
    assert service.process is not None
    pid = service.process.pid
    children = Path(f"/proc/{pid}/task/{pid}/children").read_text(encoding="ascii")
    return {int(child) for child in children.split()}


def wait_until(condition: Callable[[], bool], what: str) -> None:
    end = time.monotonic() + 120
    while not condition():
        assert time.monotonic() < end, f"waited in vain for: {what}"
        time.sleep(0.05)


def test_writes_are_given_up_while_another_process_has_the_turn_and_reads_go_on(
    service: Server, wire: Wire
) -> None:
    value = wire.call("GET", "/digitaltwins/c")[2]["value"]
    with holding_the_turn(service):
        status, headers, document = wire.call("PUT", "/digitaltwins/c", counter(value + 1))
        assert (status, document["error"]["code"]) == (503, "StorageBusy")
        assert headers["retry-after"] == "1"
        assert wire.call("GET", "/digitaltwins/c")[2]["value"] == value
    assert wire.call("PUT", "/digitaltwins/c", counter(value + 2))[0] == 200
    assert wire.call("GET", "/digitaltwins/c")[2]["value"] == value + 2


@pytest.mark.skipif(not Path("/proc/self/task").exists(), reason="it finds workers in /proc")
def test_workers_are_replaced_while_another_process_has_the_turn(service: Server) -> None:
    wait_until(lambda: len(list_workers(service)) == 2, "two workers")
    old = list_workers(service)
    with holding_the_turn(service):
        for worker in old:
            os.kill(worker, signal.SIGKILL)
        wait_until(
            lambda: len(list_workers(service) - old) == 2 and is_ready(service), "new workers"
        )
        assert send(service, "GET", "/digitaltwins/a", None)[0] == 200
    assert send(service, "PUT", "/digitaltwins/c", json.dumps(counter(7)).encode())[0] == 200


@pytest.mark.skipif(not Path("/proc/self/task").exists(), reason="it finds workers in /proc")
def test_a_frozen_worker_is_replaced(service: Server) -> None:
    # NOTE: gunicorn does not watch a worker before its first sign of life.
    wait_until(lambda: has_started(service, list_workers(service)), "two workers that serve")
    assert all(is_ready(service) for _ in range(20))
    frozen = min(list_workers(service))
    os.kill(frozen, signal.SIGSTOP)
    wait_until(lambda: frozen not in list_workers(service), "the end of the frozen worker")
    wait_until(lambda: len(list_workers(service)) == 2 and is_ready(service), "its successor")
    assert send(service, "PUT", "/digitaltwins/c", json.dumps(counter(8)).encode())[0] == 200


def has_started(service: Server, workers: set[int]) -> bool:
    log = service.log.read_text(encoding="utf-8")
    return len(workers) == 2 and all(f"Started server process [{one}]" in log for one in workers)


def is_ready(service: Server) -> bool:
    with contextlib.suppress(OSError, http.client.HTTPException):
        return send(service, "GET", "/health/ready", None)[0] == 200
    return False
