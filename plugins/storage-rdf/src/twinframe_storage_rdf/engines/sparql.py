"""A SPARQL 1.1 server somewhere else, by its query and update services. It knows no product.

Promises: a write is one request, so it is atomic where the server's updates are, and durable where
its commits are. Reads are tried again, writes never; whether a write was made is asked afterwards.
"""

from __future__ import annotations

import random
import ssl
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Final

import httpx2

from twinframe.errors import (
    ConfigurationError,
    LimitExceeded,
    QueryTimeout,
    StorageBusy,
    StorageError,
)
from twinframe_storage_rdf.endpoint.remote import relay_answer
from twinframe_storage_rdf.engines.base import Change, Engine, Question
from twinframe_storage_rdf.engines.claims import Claims
from twinframe_storage_rdf.engines.products import PRODUCTS, STANDARD, Product, find_product
from twinframe_storage_rdf.engines.results import parse_rows, parse_truth
from twinframe_storage_rdf.engines.updates import (
    render_conditional,
    render_conditional_for_virtuoso,
    render_data,
    render_marker_ask,
    render_staged,
)
from twinframe_storage_rdf.terms import Iri, Row, render_iri

_RESULTS: Final = "application/sparql-results+json"
_MOST_BYTES: Final = 1024**3
_PAUSE: Final = 0.05
_MOST_IN_TEXT: Final = 800
_CHUNK: Final = 400

_CUT_HEADERS: Final = ("x-sparql-maxrows", "x-sql-state")
"""Virtuoso says with these that an answer with status 200 is not the whole one."""


@dataclass(frozen=True, slots=True)
class Remote:
    """Where the server is, and how to talk to it. Times are in seconds."""

    query_url: str
    update_url: str
    auth: httpx2.Auth | None = None
    token: str = ""
    verify: ssl.SSLContext | bool = True
    connections: int = 16
    connect_timeout: float = 5.0
    timeout: float = 30.0
    retries: int = 2


class _Unanswered(StorageError):
    """No usable answer came, for a reason that may pass."""


class SparqlEngine(Engine):
    """Named graphs of a remote server. No other program may write them."""

    def __init__(self, remote: Remote) -> None:
        self._remote = remote
        self._client: httpx2.Client | None = None
        self._is_virtuoso = False

    def open(self) -> None:
        """Make the pool of connections; the first request connects."""
        remote = self._remote
        headers = {"Authorization": f"Bearer {remote.token}"} if remote.token else {}
        if self._client is None:
            self._client = httpx2.Client(
                auth=remote.auth,
                headers=headers,
                verify=remote.verify,
                timeout=httpx2.Timeout(remote.timeout, connect=remote.connect_timeout),
                limits=httpx2.Limits(max_connections=remote.connections),
                follow_redirects=False,  # SEC: the credentials are for this address alone
                trust_env=False,
            )

    @property
    def keeps_numbers(self) -> bool:
        """Virtuoso answers doubles with six digits, and some large integers as decimals."""
        return not self._is_virtuoso

    def close(self) -> None:
        """Close the connections."""
        if self._client is not None:
            self._client.close()
            self._client = None

    def select(self, text: str, deadline: float | None = None) -> Iterator[Row]:
        """The rows, read whole."""
        return parse_rows(self._read(text, deadline))

    def ask(self, text: str, deadline: float | None = None) -> bool:
        """The answer."""
        return parse_truth(self._read(text, deadline))

    def commit(self, change: Change) -> bool:
        """One update; then ask whether it was made, which an update does not say."""
        stages: list[Iri] = []
        try:
            try:
                self._write(self._render(change, stages))
            except _Unanswered as error:
                if self.ask(render_marker_ask(change)):
                    return True
                raise StorageError(
                    f"The write got no answer and is not there so far: {error.message}"
                ) from error
            return self.ask(render_marker_ask(change))
        finally:
            if stages:
                self.clear(stages)

    def _render(self, change: Change, stages: list[Iri]) -> str:
        if not self._is_virtuoso:
            return render_conditional(change)
        data = next((graph for graph, _ in change.removed), None)
        size = sum(len(triples) for _, triples in (*change.removed, *change.added))
        if data is None or size <= _MOST_IN_TEXT:
    @contextmanager
    def writing(self, state: Iri, deadline: float) -> Iterator[None]:
        """Take turns by claims where the server does not keep updates apart."""
        if self._product.isolates:
            yield
            return
        self._turn = self._find_claims(state).take(deadline)
        try:
            yield
        finally:
            if self._turn is not None:  # no update was sent
                self._end_turn(state, is_over=True)

    def answer(
        self, question: Question, deadline: float, write: Callable[[bytes], object]
    ) -> None:
        """Hand a caller's query on, with the one graph that it may see."""
        if self._client is None:
            raise StorageError("The connection to the SPARQL server is closed.")
        remote = self._remote
        relay_answer(
            self._client, remote.query_url, question, deadline, remote.connect_timeout, write
        )

            return render_conditional_for_virtuoso(change)
        # NOTE: Virtuoso compiles texts of some thousand triples no more. Those of the data graph
        # are brought to graphs that nobody reads, from where one update takes them all.
        names = [Iri(f"{data}:{kind}:{uuid.uuid4().hex}") for kind in ("removed", "added")]
        stages += names
        for name, graphs in zip(names, (change.removed, change.added), strict=True):
            triples = [triple for graph, of in graphs if graph == data for triple in of]
            for at in range(0, len(triples), _CHUNK):
                self._write(render_data("INSERT", [(name, triples[at : at + _CHUNK])]))
        return render_staged(change, data, names[0], names[1])

    def clear(self, graphs: Sequence[Iri]) -> None:
        """Clear the graphs in one request."""
        self._write(" ;\n".join(f"CLEAR SILENT GRAPH {render_iri(graph)}" for graph in graphs))

    # --- requests -------------------------------------------------------------------------------

    def _read(self, text: str, deadline: float | None) -> bytes:
        attempt = 0
        while True:
            try:
                return self._send(self._remote.query_url, {"query": text}, deadline)
            except _Unanswered as error:
                attempt += 1
                if attempt > self._remote.retries:
                    raise StorageBusy(error.message) from error
                pause = _PAUSE * attempt * (0.5 + random.random())  # noqa: S311
                if deadline is not None and time.monotonic() + pause >= deadline:
                    raise QueryTimeout("The query passed its deadline.") from error
                time.sleep(pause)

    def _write(self, text: str) -> None:
        self._send(self._remote.update_url, {"update": text}, None)

    def _send(self, url: str, form: dict[str, str], deadline: float | None) -> bytes:
        """The body of the answer. `_Unanswered` when trying again may help."""
        if self._client is None:
            raise StorageError("The connection to the SPARQL server is closed.")
        limit = time.monotonic() + self._remote.timeout
        end = limit if deadline is None else min(limit, deadline)
        wait = end - time.monotonic()
        if wait <= 0:
            raise QueryTimeout("The query passed its deadline and was stopped.")
        timeout = httpx2.Timeout(wait, connect=min(wait, self._remote.connect_timeout))
        try:
            with self._client.stream(
                "POST", url, data=form, headers={"Accept": _RESULTS}, timeout=timeout
            ) as answer:
                body = _read_body(answer, end)
                _check(answer, body)
                self._is_virtuoso = answer.headers.get("server", "").startswith("Virtuoso")
                return body
        except httpx2.TimeoutException as error:
            if deadline is not None and time.monotonic() >= deadline:
                raise QueryTimeout("The query passed its deadline and was stopped.") from error
            raise _Unanswered("The SPARQL server did not answer in time.") from error
        except (httpx2.HTTPError, httpx2.StreamError) as error:
            raise _Unanswered(f"The SPARQL server gave no whole answer: {error}") from error


def _read_body(answer: httpx2.Response, end: float) -> bytes:
    parts: list[bytes] = []
    size = 0
    for part in answer.iter_bytes():
        parts.append(part)
        size += len(part)
        if size > _MOST_BYTES:
            raise LimitExceeded(f"The SPARQL server answered with more than {_MOST_BYTES} bytes.")
        if time.monotonic() >= end:  # each part came in time, but all together do not
            raise httpx2.ReadTimeout("the answer takes too long")
    return b"".join(parts)


def _check(answer: httpx2.Response, body: bytes) -> None:
    if answer.is_success:
        cut = next((name for name in _CUT_HEADERS if name in answer.headers), None)
        if cut is not None:
            raise StorageError(
                f"The SPARQL server cut its answer ({cut}: {answer.headers[cut]}): "
                "raise the limit of rows and of time in its configuration."
            )
        return
    said = body[:300].decode("utf-8", "replace").strip()
    message = f"The SPARQL server answered with status {answer.status_code}: {said}"
    if answer.status_code in (401, 403):
        raise ConfigurationError(
            f"{message} Check Storage__Rdf__Authentication, User and Password."
        )
    if answer.status_code in (408, 429) or answer.status_code >= 500:
        raise _Unanswered(message)
    raise StorageError(message)
