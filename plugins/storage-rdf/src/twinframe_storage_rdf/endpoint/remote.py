"""A caller's query handed on to a SPARQL server, and its answer handed back as it comes.

SPEC: SPARQL 1.1 Protocol section 2.1. The dataset stands beside the query, and so before what the
query itself says of graphs (2.1.4).
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable
from typing import Final

import httpx2

from twinframe.errors import QueryTimeout, SparqlInvalid, StorageBusy, StorageError
from twinframe_storage_rdf.endpoint.writing import LimitedWriter
from twinframe_storage_rdf.engines.base import Question

_CUT_HEADERS: Final = ("x-sparql-maxrows", "x-sql-state")
_REFUSED: Final = re.compile(r"Virtuoso (?:22|37|42)\w{3} Error ")
_SAID: Final = 300


def relay_answer(
    client: httpx2.Client,
    url: str,
    question: Question,
    deadline: float,
    connect_timeout: float,
    write: Callable[[bytes], object],
) -> None:
    """Ask the server at `url` and write its answer; it is asked once.

    `SparqlInvalid` in the server's own words when it refuses the query, `StorageBusy` when it
    cannot answer now, `StorageError` when it answers with something else.
    """
    form: dict[str, str] = {"query": question.text}
    if question.default is not None:
        form["default-graph-uri"] = question.default
    if question.named is not None:
        form["named-graph-uri"] = question.named
    wait = max(0.001, deadline - time.monotonic())
    timeout = httpx2.Timeout(wait, connect=min(wait, connect_timeout))
    headers = {"Accept": question.media_type}
    out = LimitedWriter(question.limit, deadline, write)
    try:
        with client.stream("POST", url, data=form, headers=headers, timeout=timeout) as answer:
            _check(answer, question)
            for piece in answer.iter_bytes():
                out.write(piece)
    except httpx2.TimeoutException as error:
        if time.monotonic() >= deadline:
            raise QueryTimeout("The query passed its deadline (Sparql__Timeout).") from error
        raise StorageBusy("The SPARQL server did not answer in time.") from error
    except (httpx2.HTTPError, httpx2.StreamError) as error:
        raise StorageBusy(f"The SPARQL server gave no whole answer: {error}") from error


def _check(answer: httpx2.Response, question: Question) -> None:
    cut = next((name for name in _CUT_HEADERS if name in answer.headers), None)
    if answer.is_success and cut is not None:
        raise StorageError(f"The SPARQL server cut its answer ({cut}: {answer.headers[cut]}).")
    if answer.is_success:
        kind = answer.headers.get("content-type", "").partition(";")[0].strip().lower()
        if kind != question.media_type:
            raise StorageError(
                f"The SPARQL server does not answer as {question.media_type}, but as {kind!a}; "
                "ask for another syntax."
            )
        return
    answer.read()
    said = answer.text[:_SAID].strip()
    message = f"The SPARQL server answered with status {answer.status_code}: {said}"
    if answer.status_code == 400 or _REFUSED.match(said) is not None:
        raise SparqlInvalid(message)
    if answer.status_code in (408, 429) or answer.status_code >= 500:
        raise StorageBusy(message)
    raise StorageError(message)
