"""The explorer of a real service: its page from a distribution's files, beside everything else."""

from __future__ import annotations

import gzip
import http.client
import json
from collections.abc import Iterator

import pytest

from tests.e2e.server import Server

PAGE = '<!doctype html><html><head><script src="./assets/a-1.js"></script></head></html>'
SCRIPT = b"let answer = 42;\n" * 200


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    folder = tmp_path_factory.mktemp("explorer")
    page = folder / "page"
    (page / "assets").mkdir(parents=True)
    (page / "index.html").write_text(PAGE, encoding="utf-8")
    (page / "assets/a-1.js").write_bytes(SCRIPT)
    (page / "assets/a-1.js.gz").write_bytes(gzip.compress(SCRIPT))
    with Server(folder, workers=2, environment={"Explorer__Directory": str(page)}) as running:
        yield running


def fetch(
    server: Server, path: str, method: str = "GET", **headers: str
) -> tuple[int, dict[str, str], bytes]:
    connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=120)
    try:
        connection.request(
            method, path, headers={name.replace("_", "-"): value for name, value in headers.items()}
        )
        answer = connection.getresponse()
        return answer.status, {k.lower(): v for k, v in answer.getheaders()}, answer.read()
    finally:
        connection.close()


@pytest.mark.parametrize("base", ["", "/api"])
def test_the_page_loads_as_a_browser_loads_it(server: Server, base: str) -> None:
    status, headers, _ = fetch(server, f"{base}/explorer?query=x")
    assert (status, headers["location"]) == (307, f"{base}/explorer/?query=x")
    assert headers["content-length"] == "0"
    status, headers, body = fetch(server, headers["location"])
    assert status == 200
    assert f'<base href="{base}/explorer/">' in body.decode()
    known = fetch(server, f"{base}/explorer/~own/query", If_None_Match=headers["etag"])
    assert (known[0], known[2]) == (304, b"")
    status, headers, body = fetch(server, f"{base}/explorer/assets/a-1.js", Accept_Encoding="gzip")
    assert (status, headers["content-encoding"]) == (200, "gzip")
    assert gzip.decompress(body) == SCRIPT
    _, _, body = fetch(server, f"{base}/explorer/configuration.json")
    assert json.loads(body)["base"] == base


def test_head_of_a_file_has_its_length_and_no_body(server: Server) -> None:
    status, headers, body = fetch(server, "/explorer/assets/a-1.js", "HEAD")
    assert (status, headers["content-length"], body) == (200, str(len(SCRIPT)), b"")


def test_the_api_is_where_it_was(server: Server) -> None:
    assert fetch(server, "/health/ready")[0] == 200
    assert fetch(server, "/explorers")[0] == 404
    assert fetch(server, "/explorer/", "POST")[0] == 405
