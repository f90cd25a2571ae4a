"""What errors tell clients of the installation: nothing. Each edge, each error, odd messages."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from twinframe import errors
from twinframe.control.http.errors import build_answer as build_control_answer
from twinframe.errors import ConfigurationError, OperationRefused, StorageError, TwinframeError
from twinframe.graph.transfer.jobs.records import build_error as build_job_error
from twinframe.http.errors import build_answer, build_single
from twinframe.mcp.errors import render_failure

PLACES = [
    "/srv/twinframe/data/default.db",
    "data/default.db-wal",
    r"C:\twinframe\default.db",
    "http://user:secret@sparql.internal:8890/sparql",
    "unix:/run/twinframe/store.sock",
]
MESSAGES = [
    "No space is left for {}; nothing was changed.",
    "SQLite failed on {}: IOError: disk I/O error",
    "The RDF store could not be read: IO error: While open a file for random access: {}: No such",
    "{}",
]
EDGES: dict[str, Callable[[TwinframeError], str]] = {
    "the API": lambda error: build_answer(error).body.decode(),
    "an operation of a bulk write": lambda error: build_answer(build_single(error)).body.decode(),
    "a transaction": lambda error: build_answer(OperationRefused(1, "x", error)).body.decode(),
    "the control plane": lambda error: build_control_answer(error).body.decode(),
    "what was refused there": lambda error: build_control_answer(
        OperationRefused(1, "x", error)
    ).body.decode(),
    "MCP": render_failure,
    "a job": lambda error: build_job_error(error).message,
}


def list_kinds() -> Iterator[type[TwinframeError]]:
    """The errors whose messages are for the operator, that take one."""
    for _, kind in inspect.getmembers(errors, inspect.isclass):
        if issubclass(kind, StorageError | ConfigurationError):
            yield kind


@pytest.mark.parametrize("edge", EDGES)
@pytest.mark.parametrize("kind", list(list_kinds()), ids=lambda kind: str(kind.__name__))
def test_no_edge_tells_where_anything_is(kind: Any, edge: str) -> None:
    for message in MESSAGES:
        for place in PLACES:
            error = kind(message.format(place))
            told = EDGES[edge](error)
            assert place not in told
            assert "default.db" not in told
            assert "secret" not in told
            assert "internal" not in told
            assert error.message == message.format(place)  # the operator's
            assert len(error.public) > 20


def test_a_message_without_a_place_is_told_as_it_is() -> None:
    text = "64 writes wait already (Storage__MaxQueuedWrites); try again."
    assert text in build_answer(errors.StorageBusy(text)).body.decode()
    full = errors.StorageFull("No space is left for the RDF store; nothing was changed.")
    assert full.message in build_answer(full).body.decode()


def test_every_kind_of_storage_error_has_a_text_of_its_own_that_names_no_place() -> None:
    kinds = [kind for kind in list_kinds() if issubclass(kind, StorageError)]
    assert len(kinds) >= 5
    for kind in kinds:
        assert kind.told.endswith(".")
        assert "/" not in kind.told
