"""A remote SPARQL 1.1 server, used through its query and update services.

A write is one update, so it is atomic where the server's updates are, and durable where its commits
are. Reads are retried, writes never: whether a write was made is queried afterwards.
`engines.products` holds the differences between products.
"""

from __future__ import annotations

import contextlib
import ssl
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Final

import httpx2
import pyoxigraph

from twinframe.errors import (
    ConfigurationError,
    LimitExceeded,
    QueryTimeout,
    SparqlInvalid,
    StorageBusy,
    StorageError,
    StorageUnanswered,
)
from twinframe.runtime.backoff import Backoff
from twinframe.storage.triples import N_TRIPLES, ROWS_JSON, QueryForm
from twinframe_storage_rdf.endpoint.writing import (
    LimitedWriter,
    check_deadline,
    read_rows,
    read_triples,
    write_rows,
    write_triples,
)
from twinframe_storage_rdf.engine import Change, Engine, Question
from twinframe_storage_rdf.engines.claims import Claims
from twinframe_storage_rdf.mapping import Triple
from twinframe_storage_rdf.products import PRODUCTS, STANDARD, Product, find_product
from twinframe_storage_rdf.results import parse_rows, parse_truth
from twinframe_storage_rdf.settings import RdfSettings
from twinframe_storage_rdf.terms import Iri, Row, render_iri
from twinframe_storage_rdf.updates import render_marker_ask

_RESULTS: Final = "application/sparql-results+json"
_PAUSES: Final = Backoff(0.075, 0.5, spread=2 / 3)
_TURN_SECONDS: Final = 5.0
_LEASE_SHARE: Final = 3
"""A claim counts as abandoned after this share of the longest time of an update."""

_UNFINISHED: Final = (408, 502, 503, 504)
"""Statuses that a gateway returns while the server behind it may still be working."""
_NOTHING: Final = "urn:twinframe:endpoint:nothing"
"""The IRI of a graph that does not exist.

SEC: without a named graph in the request Virtuoso offers all its graphs as named ones, including
the state of twin graphs. A caller that may see none is given this one.
"""
_TRIPLES: Final = (N_TRIPLES.media_types[0], "text/plain")
_WIDER: Final = 16
"""The server's answer may be this many times longer than ours: names are repeated in each row."""
_FRAME: Final = 1024 * 1024
"""The bytes before, between and after the rows."""
_MOST_TRUTH: Final = 64 * 1024
_SAID: Final = 300


class _Unanswered(StorageError):
    """No usable answer came, for a reason that may pass.

    `is_over`: the server has ended the request all the same. `is_undone`: and changed nothing.
    """

    def __init__(self, message: str, *, is_over: bool = False, is_undone: bool = False) -> None:
        super().__init__(message)
        self.is_over = is_over
        self.is_undone = is_undone


class _Denied(StorageError):
    """The server refuses this service's credentials; at start-up, an error in the settings."""


class SparqlEngine(Engine):
    """Named graphs of a remote server. No other program may write them."""

    is_remote = True

    def __init__(self, settings: RdfSettings) -> None:
        self._settings = settings
        self._update_url = settings.update_url or settings.query_url
        self._authorities = _load_authorities(settings.ca_file)
        self._client: httpx2.Client | None = None
        self._product = PRODUCTS.get(settings.product, STANDARD)
        self._server = ""
        self._claims: dict[Iri, Claims] = {}
        self._claim: Triple | None = None

    def open(self) -> None:
        """Create the connection pool, detect the server's product, and check its configuration."""
        settings = self._settings
        auth, headers = _build_login(settings)
        # PERF: loading the authorities takes 20 ms, which plain HTTP does not need.
        urls = settings.query_url, self._update_url
        is_encrypted = any(url.startswith("https:") for url in urls)
        if self._client is None:
            self._client = httpx2.Client(
                auth=auth,
                headers=headers,
                verify=self._authorities if is_encrypted else False,
                timeout=httpx2.Timeout(settings.timeout, connect=settings.connect_timeout),
                limits=httpx2.Limits(max_connections=settings.connections),
                follow_redirects=False,  # SEC: the credentials are for this address alone
                trust_env=False,
            )
            # NOTE: detected once, from a successful answer: an error may come from a gateway.
            try:
                self.ask("ASK { }")
            except _Denied as error:
                raise ConfigurationError(error.message) from error
            if not settings.product:
                self._product = find_product(self._server)
            self._product.check(self.select)

    @property
    def dialect(self) -> str:
        """Return the server's address: each server is a dialect of its own."""
        return self._settings.query_url

    @property
    def keeps_numbers(self) -> bool:
        """Return what the product says."""
        return self._product.keeps_numbers

    def close(self) -> None:
        """Close the connections."""
        if self._client is not None:
            self._client.close()
            self._client = None

    def select(self, text: str, deadline: float | None = None) -> Iterator[Row]:
        """Return the rows, read whole."""
        return parse_rows(self._read(text, deadline))

    def ask(self, text: str, deadline: float | None = None) -> bool:
        """The answer."""
        return parse_truth(self._read(text, deadline))

    def answer(self, question: Question, deadline: float, write: Callable[[bytes], object]) -> None:
        """Forward a caller's query once, then check and rewrite its answer as it arrives.

        SPEC: SPARQL 1.1 Protocol section 2.1. The dataset is sent separately from the query
        (2.1.4), whose text has no FROM clause any more. Raises `SparqlInvalid` in the server's own
        words when it refuses the query, `StorageBusy` when it does not answer, `StorageError` when
        it answers with something else.
        """
        if self._client is None:
            raise StorageError("The connection to the SPARQL server is closed.")
        form = {
            "query": question.text,
            "default-graph-uri": question.default or _NOTHING,
            "named-graph-uri": question.named or _NOTHING,
        }
        settings = self._settings
        last = min(time.monotonic() + settings.timeout, deadline)
        wait = max(0.001, last - time.monotonic())
        timeout = httpx2.Timeout(wait, connect=min(wait, settings.connect_timeout))
        wanted = _TRIPLES if question.form.makes_triples else ROWS_JSON.media_types
        headers = {"Accept": f"{wanted[0]}, {wanted[1]};q=0.5"}
        out = LimitedWriter(question.limit, deadline, write)
        try:
            with self._client.stream(
                "POST", settings.query_url, data=form, headers=headers, timeout=timeout
            ) as answer:
                _check_answer(answer, wanted, self._product)
                pieces = _check_time(answer.iter_bytes(), last)
                rewrite_answer(pieces, question, self._product, out)
        except httpx2.TimeoutException as error:
            check_deadline(deadline)
            raise StorageBusy("The SPARQL server did not answer in time.") from error
        except (httpx2.HTTPError, httpx2.StreamError) as error:
            raise StorageBusy(f"The SPARQL server gave no whole answer: {error}") from error

    @contextmanager
    def writing(self, state: Iri, deadline: float) -> Iterator[None]:
        """Hold the writer lock by a claim; one writer at a time in this process."""
        self._claim = self._find_claims(state).take(deadline)
        try:
            yield
        finally:
            self._end_claim(state, is_over=True)

    def commit(self, change: Change) -> bool:
        """Send one update, then query whether it was applied, which an update does not report."""
        if self._claim is None:
            with self.writing(change.guard.graph, time.monotonic() + _TURN_SECONDS):
                return self.commit(change)
        update = self._product.build_update(change, self._claim)
        try:
            self._prepare(update.before)
            return self._make(update.text, change)
        finally:
            if update.stages:
                with contextlib.suppress(StorageError):  # staging graphs are not read
                    self.clear(update.stages)

    def _prepare(self, texts: Sequence[str]) -> None:
        try:
            for text in texts:
                self._write(text)
        except _Unanswered as error:
            raise StorageBusy(f"Nothing was changed. {error.message}") from error

    def _make(self, text: str, change: Change) -> bool:
        try:
            self._write(text)
        except StorageError as error:
            is_over = not isinstance(error, _Unanswered) or error.is_over
            self._end_claim(change.guard.graph, is_over=is_over)
            if self._is_made(change):
                return True
            if not isinstance(error, _Unanswered):
                raise
            if error.is_undone:
                return False
            if error.is_over:
                raise StorageBusy(f"Nothing was changed. {error.message}") from error
            raise StorageUnanswered(f"The write is not there so far. {error.message}") from error
        self._claim = None  # the update removed its claim
        return self.ask(render_marker_ask(change))

    def _is_made(self, change: Change) -> bool:
        try:
            return self.ask(render_marker_ask(change))
        except StorageError as error:
            raise StorageUnanswered(
                "The write got no answer, nor does the server say whether it was made. "
                f"{error.message}"
            ) from error

    def _end_claim(self, state: Iri, *, is_over: bool) -> None:
        """Remove the claim, or revoke it, since its update may still end later."""
        claim, self._claim = self._claim, None
        if claim is None:
            return
        claims = self._find_claims(state)
        with contextlib.suppress(StorageError):  # otherwise it expires, and others revoke it
            (claims.release if is_over else claims.revoke)(claim)

    def _find_claims(self, state: Iri) -> Claims:
        longest = self._settings.timeout
        revocation = 0.0 if self._product.isolates else longest
        return self._claims.setdefault(
            state,
            Claims(
                state, self.select, self._write, lease=longest / _LEASE_SHARE, revocation=revocation
            ),
        )

    def clear(self, graphs: Sequence[Iri]) -> None:
        """Clear the graphs in one request."""
        self._write(" ;\n".join(f"CLEAR SILENT GRAPH {render_iri(graph)}" for graph in graphs))

    # --- requests -------------------------------------------------------------------------------

    def _read(self, text: str, deadline: float | None) -> bytes:
        attempt = 0
        while True:
            try:
                return self._send(self._settings.query_url, {"query": text}, deadline)
            except _Unanswered as error:
                attempt += 1
                if attempt > self._settings.retries:
                    raise StorageBusy(error.message) from error
                pause = _PAUSES.build_pause(attempt)
                if deadline is not None and time.monotonic() + pause >= deadline:
                    raise QueryTimeout("The query passed its deadline.") from error
                time.sleep(pause)

    def _write(self, text: str) -> None:
        self._send(self._update_url, {"update": text}, None)

    def _send(self, url: str, form: dict[str, str], deadline: float | None) -> bytes:
        """Return the body of the answer. Raises `_Unanswered` when a retry may help."""
        if self._client is None:
            raise StorageError("The connection to the SPARQL server is closed.")
        limit = time.monotonic() + self._settings.timeout
        end = limit if deadline is None else min(limit, deadline)
        wait = end - time.monotonic()
        if wait <= 0:
            raise QueryTimeout("The query passed its deadline and was stopped.")
        timeout = httpx2.Timeout(wait, connect=min(wait, self._settings.connect_timeout))
        try:
            with self._client.stream(
                "POST", url, data=form, headers={"Accept": _RESULTS}, timeout=timeout
            ) as answer:
                self._server = answer.headers.get("server", "")
                try:
                    body = _read_body(answer, end, self._settings.max_answer_bytes)
                except httpx2.HTTPError as error:
                    is_over = answer.status_code not in _UNFINISHED
                    raise _Unanswered(
                        f"The SPARQL server gave no whole answer: {error}", is_over=is_over
                    ) from error
                _check(answer, body, self._product)
                return body
        except httpx2.TimeoutException as error:
            if deadline is not None and time.monotonic() >= deadline:
                raise QueryTimeout("The query passed its deadline and was stopped.") from error
            raise _Unanswered("The SPARQL server did not answer in time.") from error
        except (httpx2.HTTPError, httpx2.StreamError) as error:
            raise _Unanswered(f"The SPARQL server gave no whole answer: {error}") from error


def _build_login(settings: RdfSettings) -> tuple[httpx2.Auth | None, dict[str, str]]:
    secret = settings.password.get_secret_value()
    match settings.authentication:
        case "basic":
            return httpx2.BasicAuth(settings.user, secret), {}
        case "digest":
            return httpx2.DigestAuth(settings.user, secret), {}
        case "bearer":
            return None, {"Authorization": f"Bearer {secret}"}
        case "none":
            return None, {}


def _load_authorities(file: str) -> ssl.SSLContext | bool:
    if not file:
        return True
    try:
        return ssl.create_default_context(cafile=file)
    except OSError as error:
        raise ConfigurationError(
            f"Storage__Rdf__CaFile: {file} cannot be read as PEM certificates: {error}"
        ) from error


def _read_body(answer: httpx2.Response, end: float, most: int) -> bytes:
    parts: list[bytes] = []
    size = 0
    for part in _check_time(answer.iter_bytes(), end):
        parts.append(part)
        size += len(part)
        if size > most:
            raise StorageError(
                f"The SPARQL server answered with more than {most} bytes "
                "(Storage__Rdf__MaxAnswerBytes)."
            )
    return b"".join(parts)


def _check(answer: httpx2.Response, body: bytes, product: Product) -> None:
    status = answer.status_code
    if answer.is_success:
        cut = product.find_cut(answer.headers)
        if cut:
            raise StorageError(
                f"The SPARQL server cut its answer ({cut}: {answer.headers[cut]}): "
                "raise the limit of rows and of time in its configuration."
            )
        return
    said = body[:_SAID].decode("utf-8", "replace").strip()
    message = f"The SPARQL server answered with status {status}: {said}"
    if status in (401, 403):
        raise _Denied(f"{message} Check Storage__Rdf__Authentication, User and Password.")
    if answer.is_redirect:
        raise StorageError(
            f"The SPARQL server redirects to {answer.headers.get('location', 'nowhere')}: "
            "QueryUrl and UpdateUrl must name it itself, as no credentials are sent on."
        )
    if status in (408, 429) or (status >= 500 and not product.is_refusal(said)):
        raise _Unanswered(
            message, is_over=status not in _UNFINISHED, is_undone=product.is_undone(said)
        )
    raise StorageError(message)


# --- answers to callers ---------------------------------------------------------------------------


def _check_time(pieces: Iterator[bytes], last: float) -> Iterator[bytes]:
    for piece in pieces:
        if time.monotonic() >= last:  # each piece came in time, but all together do not
            raise httpx2.ReadTimeout("the answer takes too long")
        yield piece


def _check_size(pieces: Iterator[bytes], limit: int, out: LimitedWriter) -> Iterator[bytes]:
    """SEC: what is read and not written is held in memory, or is nothing, such as blanks."""
    size = held = written = 0
    for piece in pieces:
        size += len(piece)
        held = held + len(piece) if out.size == written else len(piece)
        written = out.size
        if size > limit * _WIDER or held > limit + _FRAME:
            raise StorageError("The SPARQL server's answer is much longer than what it says.")
        yield piece


def rewrite_answer(
    pieces: Iterator[bytes], question: Question, product: Product, out: LimitedWriter
) -> None:
    """Write the rows in JSON, or the triples as N-Triples, in the caller's format.

    Raises `StorageError` when they are something else, or end early.
    """
    checked = _check_size(pieces, question.limit, out)
    try:
        if question.form.makes_triples:
            write_triples(read_triples(_check_end(checked)), question.media_type, out)
        elif question.form is QueryForm.SELECT:
            write_rows(_parse_solutions(product.mend_rows(checked)), question.media_type, out)
        else:
            truth = b"true" if _read_truth(checked) else b"false"
            found = read_rows(iter([b'{"head":{},"boolean":%b}' % truth]))
            write_rows(found, question.media_type, out)
    except (SyntaxError, ValueError) as error:
        wanted = "N-Triples" if question.form.makes_triples else "whole result"
        raise StorageError(
            f"The SPARQL server answered with something that is no {wanted}."
        ) from error
    except MemoryError as error:
        raise LimitExceeded(f"The answer has a term that is too long: {error}.") from error


def _parse_solutions(pieces: Iterator[bytes]) -> pyoxigraph.QuerySolutions:
    found = read_rows(pieces)
    if not isinstance(found, pyoxigraph.QuerySolutions):
        raise ValueError("the answer to an ASK")  # noqa: TRY004  (its content is wrong)
    return found


def _check_end(pieces: Iterator[bytes]) -> Iterator[bytes]:
    """SPEC: RDF 1.1 N-Triples, section 7: without a line break at its end, a document was cut."""
    is_open = False
    for piece in pieces:
        _, line_break, rest = piece.rpartition(b"\n")
        is_open = bool(rest.strip()) or (is_open and not line_break)
        yield piece
    if is_open:
        raise ValueError("its last line has no end")


def _read_truth(pieces: Iterator[bytes]) -> bool:
    text = b""
    for piece in pieces:
        text += piece
        if len(text) > _MOST_TRUTH:
            raise StorageError("The SPARQL server answered an ASK with something else.")
    return parse_truth(text)


def _check_answer(answer: httpx2.Response, wanted: tuple[str, ...], product: Product) -> None:
    if answer.is_success:
        cut = product.find_cut(answer.headers)
        if cut:
            raise StorageError(f"The SPARQL server cut its answer ({cut}: {answer.headers[cut]}).")
        kind = answer.headers.get("content-type", "").partition(";")[0].strip().lower()
        if kind not in wanted:
            raise StorageError(f"The SPARQL server answers as {kind!a}, not as {wanted[0]}.")
        return
    said = next(answer.iter_bytes(), b"")[:_SAID].decode("utf-8", "replace").strip()
    message = f"The SPARQL server answered with status {answer.status_code}: {said}"
    if answer.status_code == 400 or product.is_refusal(said):
        raise SparqlInvalid(message)
    if answer.status_code in (408, 429) or answer.status_code >= 500:
        raise StorageBusy(message)
    raise StorageError(message)
