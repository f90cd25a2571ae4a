"""Parses answers in the SPARQL 1.1 JSON results format into rows."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

import orjson

from twinframe.errors import StorageError
from twinframe_storage_rdf.terms import Iri, Row, Term, parse_literal

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
