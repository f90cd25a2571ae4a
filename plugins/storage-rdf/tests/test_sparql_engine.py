"""A remote SPARQL server keeps the storage contract, and its failures stay whole."""

from __future__ import annotations

import base64
import time
from collections.abc import Iterator
from typing import Any

import pytest

from twinframe.errors import ConfigurationError, QueryTimeout, StorageBusy, StorageError
from twinframe.storage.base import GraphStore
from twinframe.testing.contracts.base import put, reading
from twinframe.testing.factories import build_twin_record
from twinframe_storage_rdf.building import build_store
from twinframe_storage_rdf.settings import RdfSettings


def build_remote(server: Any, **settings: Any) -> GraphStore:
    """A store on the server."""
    return build_store(
        RdfSettings(
            engine="sparql",
            query_url=f"{server.url}/query",
            update_url=f"{server.url}/update",
            **settings,
        ),
        "default",
    )


def is_change(text: str) -> bool:
    """Whether the text is an update that makes a change, not one of a claim."""
    return "INSERT {" in text


@pytest.fixture
def store(sparql_server: Any) -> Iterator[GraphStore]:
    store = build_remote(sparql_server, timeout=1.0, retries=1)
    store.open()
    put(store, build_twin_record("before"))
    yield store
    sparql_server.fault = lambda path, text: ""
    with reading(store) as session:
        assert session.has_twin("before")  # the next request works
    assert list(store.verify()) == []  # nothing is half-written
    store.close()


@pytest.mark.parametrize("fault", ["500", "cut", "slow"])
def test_a_read_that_fails_once_is_tried_again(
    store: GraphStore, sparql_server: Any, fault: str
) -> None:
    faults = [fault]
    sparql_server.fault = lambda path, text: faults.pop() if faults else ""
    with reading(store) as session:
        assert session.has_twin("before")


@pytest.mark.parametrize("fault", ["500", "cut", "slow"])
def test_a_read_that_fails_always_says_to_come_back(
    store: GraphStore, sparql_server: Any, fault: str
) -> None:
    sparql_server.fault = lambda path, text: fault
    with reading(store) as session, pytest.raises(StorageBusy):
        session.has_twin("before")


def test_rubbish_is_an_error_of_the_store(store: GraphStore, sparql_server: Any) -> None:
    sparql_server.fault = lambda path, text: "rubbish"
    with reading(store) as session, pytest.raises(StorageError):
        session.has_twin("before")


def test_a_read_past_its_deadline_is_a_timeout(store: GraphStore, sparql_server: Any) -> None:
    sparql_server.fault = lambda path, text: "slow"
    with (
        reading(store) as session,
        pytest.raises(QueryTimeout),
        session.snapshot(time.monotonic() + 0.1),
    ):
        session.has_twin("before")


@pytest.mark.parametrize("fault", ["500", "cut", "slow"])
def test_a_write_that_fails_is_sent_once_and_is_not_there(
    store: GraphStore, sparql_server: Any, fault: str
) -> None:
    sparql_server.fault = lambda path, text: fault if is_change(text) else ""
    sparql_server.requests.clear()
    with pytest.raises(StorageError):
        put(store, build_twin_record("new"))
    assert sum(is_change(text) for _, text in sparql_server.requests) == 1
    with reading(store) as session:
        assert not session.has_twin("new")


def test_a_write_whose_answer_is_lost_is_found_to_be_made(
    store: GraphStore, sparql_server: Any
) -> None:
    sparql_server.fault = lambda path, text: "lost" if is_change(text) else ""
    sparql_server.requests.clear()
    put(store, build_twin_record("new"))
    assert sum(is_change(text) for _, text in sparql_server.requests) == 1
    with reading(store) as session:
        assert session.has_twin("new")


@pytest.mark.parametrize(
    ("settings", "header"),
    [
        (
            {"authentication": "basic", "user": "u", "password": "p"},
            "Basic " + base64.b64encode(b"u:p").decode(),
        ),
        ({"authentication": "bearer", "password": "t0k3n"}, "Bearer t0k3n"),
    ],
)
def test_credentials_go_with_each_request(
    sparql_server: Any, settings: dict[str, str], header: str
) -> None:
    sparql_server.credentials = header
    store = build_remote(sparql_server, **settings)
    store.open()
    put(store, build_twin_record("a"))
    store.close()
    stranger = build_remote(sparql_server)
    with pytest.raises(ConfigurationError, match="401"):
        stranger.open()
    stranger.close()
