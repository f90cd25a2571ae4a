"""Forwards a caller's query to a SPARQL server, then checks and rewrites its answer as it arrives.

SPEC: SPARQL 1.1 Protocol section 2.1. The dataset is sent separately from the query (2.1.4),
whose text has no FROM clause any more.
"""

from __future__ import annotations

import codecs
import time
from collections.abc import Callable, Iterable, Iterator
from typing import Final

import httpx2

from twinframe.errors import SparqlInvalid, StorageBusy, StorageError
from twinframe.storage.triples import N_TRIPLES, ROWS_JSON, QueryForm
from twinframe_storage_rdf.endpoint.remote_rows import ROW_WRITERS, read_rows, write_truth
from twinframe_storage_rdf.endpoint.remote_triples import TRIPLE_WRITERS, read_triples
from twinframe_storage_rdf.endpoint.writing import LimitedWriter, check_deadline
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
_PIECE: Final = 64 * 1024
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
    """Send the query to the server at `url` once and write its answer in pieces of about 64 kB.

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
            for piece in _join(_write(_decode(answer, last, question.limit), question)):
                out.write(piece)
    except httpx2.TimeoutException as error:
        check_deadline(deadline)
        raise StorageBusy("The SPARQL server did not answer in time.") from error
    except (httpx2.HTTPError, httpx2.StreamError) as error:
        raise StorageBusy(f"The SPARQL server gave no whole answer: {error}") from error


def _decode(answer: httpx2.Response, last: float, limit: int) -> Iterator[str]:
    decoder = codecs.getincrementaldecoder("utf-8")()
    size = 0
    try:
        for piece in answer.iter_bytes():
            size += len(piece)
            if size > limit * _WIDER:  # blanks, for example
                raise StorageError("The SPARQL server's answer is much longer than what it says.")
            if time.monotonic() >= last:  # each piece came in time, but all together do not
                raise httpx2.ReadTimeout("the answer takes too long")
            yield decoder.decode(piece)
        yield decoder.decode(b"", final=True)
    except UnicodeDecodeError as error:
        raise StorageError("The SPARQL server's answer is not UTF-8.") from error


def _write(texts: Iterator[str], question: Question) -> Iterator[bytes]:
    if question.form is QueryForm.ASK:
        yield write_truth(_read_truth(texts), question.media_type)
    elif question.form is QueryForm.SELECT:
        names, rows = read_rows(texts, question.limit)
        yield from map(str.encode, ROW_WRITERS[question.media_type](names, rows))
    else:
        yield from TRIPLE_WRITERS[question.media_type](read_triples(texts, question.limit))


def _read_truth(texts: Iterator[str]) -> bool:
    text = ""
    for piece in texts:
        text += piece
        if len(text) > _MOST_TRUTH:
            raise StorageError("The SPARQL server answered an ASK with something else.")
    return parse_truth(text.encode())


def _join(pieces: Iterable[bytes]) -> Iterator[bytes]:
    parts: list[bytes] = []
    size = 0
    for piece in pieces:
        parts.append(piece)
        size += len(piece)
        if size >= _PIECE:
            yield b"".join(parts)
            parts, size = [], 0
    yield b"".join(parts)


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
