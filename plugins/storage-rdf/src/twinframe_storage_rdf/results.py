"""Parses answers in the SPARQL 1.1 JSON results format into rows, whole or in pieces."""

from __future__ import annotations

from collections.abc import Generator, Iterator
from contextlib import closing
from typing import Any, Final

import orjson

from twinframe.errors import LimitExceeded, StorageError
from twinframe_storage_rdf.terms import Iri, Row, Term, parse_literal

_FIRST_ROW: Final = b'"bindings":['
_NEXT_ROW: Final = b'"}},{"'
_MOST_BYTES: Final = 64 * 1024 * 1024
"""The largest row in bytes: many times the limit of a document or an event."""
_END: Final = b"]}}"
_BACKSLASH: Final = ord("\\")
_VIRTUOSO_ASK: Final = "__ASK_RETVAL"


def parse_rows(answer: bytes) -> Iterator[Row]:
    """Yield the rows of a SELECT.

    Raises `StorageError` if the answer is incomplete or malformed.
    """
    try:
        found = orjson.loads(answer)
        names = found["head"]["vars"]
        bindings = found["results"]["bindings"]
        return iter([_parse_row(names, binding) for binding in bindings])
    except (ValueError, TypeError, KeyError) as error:
        raise StorageError(
            "The RDF store answered with something that is no SPARQL result in JSON."
        ) from error


def parse_pieces(pieces: Generator[bytes]) -> Iterator[Row]:
    """Yield the rows of an answer that comes in pieces; only a piece and a row are in memory.

    Raises as `parse_rows` does, and `LimitExceeded` for a row above the limit.
    """
    with closing(pieces):
        rest = bytearray()
        head = b""
        for piece in pieces:
            looked = max(0, len(rest) - len(_NEXT_ROW))
            rest += piece
            if not head:
                at = rest.find(_FIRST_ROW)
                if at < 0:
                    continue
                head = bytes(rest[: at + len(_FIRST_ROW)])
                del rest[: len(head)]
                looked = 0
            cut = _find_cut(rest, looked)
            if cut > 0:
                yield from parse_rows(head + rest[:cut] + _END)
                del rest[: cut + 1]
            elif len(rest) > _MOST_BYTES:
                raise LimitExceeded(
                    f"A row of the result has more than {_MOST_BYTES} bytes; ask for less in one."
                )
        yield from parse_rows(head + rest)


def _find_cut(text: bytearray, start: int) -> int:
    """Return the position of the last comma between two rows from `start` on, or 0.

    NOTE: within a text every quote is escaped. So what looks like the end of a row is one, unless
    its first quote is escaped: then it is the end of a text.
    """
    at = len(text)
    while (at := text.rfind(_NEXT_ROW, start, at + len(_NEXT_ROW) - 1)) >= 0:
        first = at
        while first and text[first - 1] == _BACKSLASH:
            first -= 1
        if (at - first) % 2 == 0:
            return at + 3
    return 0


def parse_truth(answer: bytes) -> bool:
    """Return the answer to an ASK. Raises `StorageError` for any other answer.

    NOTE: Virtuoso answers with a row of one number, or none, instead of the standard's member.
    """
    try:
        found = orjson.loads(answer)
        if "boolean" not in found and found["head"]["vars"] == [_VIRTUOSO_ASK]:
            return any(_parse_row([_VIRTUOSO_ASK], x)[0] for x in found["results"]["bindings"])
        truth = found["boolean"]
    except (ValueError, TypeError, KeyError) as error:
        raise StorageError("The RDF store answered an ASK with something else.") from error
    if not isinstance(truth, bool):
        raise StorageError("The RDF store answered an ASK with something else.")
    return truth


def _parse_row(names: list[str], binding: dict[str, Any]) -> Row:
    return tuple([_parse_term(binding.get(name)) for name in names])


def _parse_term(found: dict[str, str] | None) -> Term:
    if found is None:
        return None
    kind = found["type"]
    if kind == "uri":
        return Iri(found["value"])
    if kind in ("literal", "typed-literal"):
        return parse_literal(found["value"], found.get("datatype"))
    raise StorageError(f"A query gave a term that no twin graph has: {found!r}")
