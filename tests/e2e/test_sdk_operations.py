"""All operations of the vendor's SDK, as many as its classes have, against a running service."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from azure.digitaltwins.core import DigitalTwinsClient
from azure.digitaltwins.core._generated.aio import operations as aio_operations
from azure.digitaltwins.core.aio import DigitalTwinsClient as AsyncDigitalTwinsClient

from tests.e2e.clients import AsyncClient, SyncClient
from tests.e2e.sdk_operations import (
    CALLED,
    ENDPOINT,
    PLAYS,
    Stage,
    build_operation_id,
    list_methods,
    list_operations,
)
from tests.e2e.server import Certificates, Server
from twinframe.http.routes import ROUTES


@pytest.fixture
def served(tmp_path: Path, certificates: Certificates) -> Iterator[Server]:
    """A service over TLS with an endpoint for events and a folder for jobs."""
    (tmp_path / "files").mkdir()
    environment = {
        f"Events__Endpoints__{ENDPOINT}__Type": "log",
        "Jobs__Directories": f'["{tmp_path / "files"}"]',
        "Jobs__LookSeconds": "0.05",
    }
    with Server(tmp_path, certificates, environment=environment) as running:
        yield running
    log = running.log.read_text(encoding="utf-8")
    assert "Traceback" not in log, log[-4000:]


@pytest.mark.parametrize("kind", [SyncClient, AsyncClient])
def test_every_operation_of_the_sdk_does_what_it_says(
    served: Server, kind: type[SyncClient | AsyncClient]
) -> None:
    assert served.certificates is not None
    client = kind(served.url, str(served.certificates.authority))
    failed: dict[str, str] = {}
    reached: set[str] = set()
    try:
        stage = Stage(client, served.folder / "files")
        for operation in list_operations():
            stage.called.clear()
            try:
                PLAYS[operation](stage)
            except Exception as error:  # noqa: BLE001  (all of them are told, not the first)
                failed[operation] = repr(error)
                continue
            method = CALLED.get(operation)
            if not {operation, *([method] if method else ())} <= stage.called:
                failed[operation] = f"its play called {sorted(stage.called)}"
            reached |= stage.called
    finally:
        client.close()
    assert failed == {}
    assert set(list_operations()) <= reached
    assert set(list_methods(DigitalTwinsClient)) <= reached


def test_the_plays_are_those_of_the_sdk_and_no_others() -> None:
    assert sorted(PLAYS) == sorted(list_operations())


def test_the_async_client_has_the_operations_of_the_sync_one() -> None:
    assert list_operations(aio_operations) == list_operations()
    more = set(list_methods(AsyncDigitalTwinsClient)) ^ set(list_methods(DigitalTwinsClient))
    assert more == {"close"}


def test_every_operation_of_the_sdk_has_a_route_of_its_name() -> None:
    named = {build_operation_id(operation) for operation in list_operations()}
    assert named <= {route.operation_id for route in ROUTES}
