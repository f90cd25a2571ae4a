"""One real server over TLS for a test session, and the vendor's clients for it."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Iterator

import pytest

from tests.e2e.clients import AsyncClient, SyncClient
from tests.e2e.server import Certificates, Server, make_certificates
from tests.e2e.wire import Wire
from tests.e2e.wire_world import seed
from tests.storages import ONE_WORKER, SERVED, choose, require

Client = SyncClient | AsyncClient


@pytest.fixture(scope="session")
def certificates(tmp_path_factory: pytest.TempPathFactory) -> Certificates:
    """A certificate authority for this run."""
    return make_certificates(tmp_path_factory.mktemp("tls"))


@pytest.fixture(scope="session", params=choose("sqlite", "oxigraph"))
def storage(request: pytest.FixtureRequest) -> str:
    """The storage that the services of a test keep their graphs in."""
    require(request.param)
    return str(request.param)


@pytest.fixture(scope="session")
def server(
    storage: str, tmp_path_factory: pytest.TempPathFactory, certificates: Certificates
) -> Iterator[Server]:
    """`twinframe serve` with two workers over TLS; its log must hold no unhandled exception."""
    folder = tmp_path_factory.mktemp("server")
    running = Server(
        folder,
        certificates,
        workers=1 if storage in ONE_WORKER else 2,
        environment={**SERVED[storage](folder), "Events__Endpoints__lines__Type": "log"},
    )
    with running:
        yield running
    log = running.log.read_text(encoding="utf-8")
    assert "Traceback" not in log, log[-4000:]


@pytest.fixture(scope="session", params=["sync", "async"])
def client(request: pytest.FixtureRequest, server: Server) -> Iterator[Client]:
    """The vendor's SDK client, once sync and once async."""
    assert server.certificates is not None
    kind = SyncClient if request.param == "sync" else AsyncClient
    made = kind(server.url, str(server.certificates.authority))
    yield made
    made.close()


@pytest.fixture(scope="session")
def wire_server(storage: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """`twinframe serve` without TLS, with the models of the wire tests and nothing else in it."""
    folder = tmp_path_factory.mktemp("wire")
    running = Server(folder, environment=SERVED[storage](folder))
    with running:
        first = Wire(running.port)
        seed(first)
        first.close()
        yield running
    log = running.log.read_text(encoding="utf-8")
    assert "Traceback" not in log, log[-4000:]


@pytest.fixture
def wire(wire_server: Server) -> Iterator[Wire]:
    """A plain connection to the server of the wire tests."""
    connection = Wire(wire_server.port)
    yield connection
    connection.close()


@pytest.fixture
def unique() -> Callable[[str], str]:
    """Makes ids that no other test uses: letters and digits after the given stem."""
    return lambda stem: f"{stem}{uuid.uuid4().hex[:12]}"
