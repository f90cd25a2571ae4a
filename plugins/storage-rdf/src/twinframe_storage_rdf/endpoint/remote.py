"""Forwards a caller's query to a SPARQL server, then checks and rewrites its answer as it arrives.

SPEC: SPARQL 1.1 Protocol section 2.1. The dataset is sent separately from the query (2.1.4),
whose text has no FROM clause any more.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from typing import Final

import httpx2
import pyoxigraph

from twinframe.errors import LimitExceeded, SparqlInvalid, StorageBusy, StorageError
from twinframe.storage.triples import N_TRIPLES, ROWS_JSON, QueryForm
from twinframe_storage_rdf.endpoint.writing import (
    LimitedWriter,
    check_deadline,
    parse_rows,
    parse_triples,
    write_rows,
    write_triples,
)
from twinframe_storage_rdf.engine import Question
from twinframe_storage_rdf.products import Product
from twinframe_storage_rdf.results import parse_truth

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


def relay_answer(
    client: httpx2.Client,
    url: str,
    question: Question,
    product: Product,
    end: float,
    deadline: float,
    connect_timeout: float,
    write: Callable[[bytes], object],
) -> None:
    """Send the query to the server at `url` once and write its answer as it arrives.

    `end` is when the server's time is over, a `time.monotonic()` moment as `deadline` is. Raises
    `SparqlInvalid` in the server's own words when it refuses the query, `StorageBusy` when it does
    not answer, `StorageError` when it answers with something else.
    """
    form = {
        "query": question.text,
        "default-graph-uri": question.default or _NOTHING,
        "named-graph-uri": question.named or _NOTHING,
    }
    last = min(end, deadline)
    wait = max(0.001, last - time.monotonic())
    timeout = httpx2.Timeout(wait, connect=min(wait, connect_timeout))
    wanted = _TRIPLES if question.form.makes_triples else ROWS_JSON.media_types
    headers = {"Accept": f"{wanted[0]}, {wanted[1]};q=0.5"}
    out = LimitedWriter(question.limit, deadline, write)
    try:
        with client.stream("POST", url, data=form, headers=headers, timeout=timeout) as answer:
            _check(answer, wanted, product)
            rewrite_answer(_check_time(answer.iter_bytes(), last), question, product, out)
    except httpx2.TimeoutException as error:
        check_deadline(deadline)
        raise StorageBusy("The SPARQL server did not answer in time.") from error
    except (httpx2.HTTPError, httpx2.StreamError) as error:
        raise StorageBusy(f"The SPARQL server gave no whole answer: {error}") from error


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
            write_triples(parse_triples(_check_end(checked)), question.media_type, out)
        elif question.form is QueryForm.SELECT:
            write_rows(_parse_solutions(product.mend_rows(checked)), question.media_type, out)
        else:
            truth = b"true" if _read_truth(checked) else b"false"
            found = parse_rows(iter([b'{"head":{},"boolean":%b}' % truth]))
            write_rows(found, question.media_type, out)
    except (SyntaxError, ValueError) as error:
        wanted = "N-Triples" if question.form.makes_triples else "whole result"
        raise StorageError(
            f"The SPARQL server answered with something that is no {wanted}."
        ) from error
    except MemoryError as error:
        raise LimitExceeded(f"The answer has a term that is too long: {error}.") from error


def _parse_solutions(pieces: Iterator[bytes]) -> pyoxigraph.QuerySolutions:
    found = parse_rows(pieces)
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


def _check(answer: httpx2.Response, wanted: tuple[str, ...], product: Product) -> None:
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
