"""Corrects names in queries, or shows an example of the intended form, without running them."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Final

from twinframe.errors import QueryInvalid
from twinframe.graph.queries.names import QueryWarning
from twinframe.query.language import Language, detect_language, parse_query

_SUGGESTED: Final = re.compile(r"did you mean '([^'\n]{1,100})'\?")
_WORD: Final = re.compile(r"[\w$]+")
_QUOTED: Final = re.compile(r"[^`'\"]+")
_PLAIN: Final = re.compile(r"[A-Za-z_]\w*(\.[A-Za-z_]\w*)?", re.ASCII)  # also climate.setpoint
_EXAMPLES: Final = {
    Language.CYPHER: "MATCH (a:Room)<-[:contains]-(b) WHERE a.name CONTAINS 'x' "
    "RETURN a.`$dtId` AS id, b.name AS inside ORDER BY id LIMIT 10",
    Language.ADT: "SELECT T.$dtId, T.name FROM DIGITALTWINS T "
    "WHERE IS_OF_MODEL(T, 'dtmi:com:example:Room;1') AND T.name = 'x'",
}
_WRITES: Final = re.compile(r"\b(CREATE|MERGE|SET|DELETE|DETACH|REMOVE)\b", re.IGNORECASE)


def correct_query(text: str, error: QueryInvalid) -> str | None:
    """Return the text with the suggested name at the error's position, if it is a valid query
    then.
    """
    found = _SUGGESTED.search(error.message)
    if found is None or not error.line:
        return None
    return _check(_replace(text, error.line, error.column, found[1]))


def correct_names(text: str, warnings: Iterable[QueryWarning]) -> str | None:
    """Return the text with each suggested name in its position, if it is a valid query then."""
    corrected = text
    # NOTE: from the end, so that earlier positions stay valid.
    for one in sorted(warnings, key=lambda warning: (-warning.line, -warning.column)):
        if one.suggestion and one.line:
            corrected = _replace(corrected, one.line, one.column, one.suggestion)
    return None if corrected == text else _check(corrected)


def render_example(text: str, error: QueryInvalid) -> str:
    """Render what to do instead, with a valid query."""
    clause = _WRITES.search(error.message)
    if clause is not None:
        return (
            "Queries only read. Change the graph by create_or_replace_digital_twin, "
            "update_digital_twin, create_or_replace_relationship and the other writing tools."
        )
    return f"A query of this form is right: {_EXAMPLES[detect_language(text)]}"


def _replace(text: str, line: int, column: int, name: str) -> str:
    lines = text.split("\n")
    if line > len(lines):
        return text
    present = lines[line - 1]
    is_quoted = column > 1 and present[column - 2] in "`'\""
    word = (_QUOTED if is_quoted else _WORD).match(present, column - 1)
    if word is None:
        return text
    written = name if is_quoted or _PLAIN.fullmatch(name) else f"`{name}`"
    lines[line - 1] = present[: word.start()] + written + present[word.end() :]
    return "\n".join(lines)


def _check(text: str) -> str | None:
    try:
        parse_query(text, parameters=_Anything())
    except QueryInvalid:
        return None
    return text


class _Anything(frozenset[str]):
    """Parameters of any name."""

    __slots__ = ()

    def __contains__(self, _name: object) -> bool:
        return True
