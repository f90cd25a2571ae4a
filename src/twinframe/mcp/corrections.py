"""Corrects names in queries, or shows an example of the intended form, without running them.

Of a query without results, which an assistant might take for an answer, it finds the properties
that are read from a twin itself although they are in one of its components.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import islice
from typing import Final

from twinframe.errors import QueryInvalid
from twinframe.graph.models.outlines import Outlines
from twinframe.graph.queries.names import QueryWarning
from twinframe.model.values import JsonValue
from twinframe.query.errors import find_position
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


_MEMBER: Final = re.compile(r"\.\s*`?(\w+)")
_OWNER: Final = re.compile(r"(\w+)`?\s*$")
_LONGEST_OWNER: Final = 200
_MOST_MEMBERS: Final = 100
_MOST_WARNINGS: Final = 5


def found_nothing(rows: Sequence[JsonValue]) -> bool:
    """Return whether there are no rows, or one of their columns is null in each."""
    objects = [row for row in rows if isinstance(row, dict)]
    return not rows or any(
        all(row.get(name) is None for row in objects) for name in (objects[0] if objects else ())
    )


def find_misplaced(outlines: Outlines, query: str) -> list[QueryWarning]:
    """Return a warning for each `r.temperature` that should be `r.climate.temperature`."""
    places = _list_places(outlines)
    return list(islice(_find(places, query), _MOST_WARNINGS))


def _find(places: Mapping[str, Sequence[str]], query: str) -> Iterator[QueryWarning]:
    for member in islice(_MEMBER.finditer(query), _MOST_MEMBERS):
        name, at = member[1], member.start()
        owner = _OWNER.search(query[max(0, at - _LONGEST_OWNER) : at])
        components = places.get(name)
        if components is None or owner is None or owner[1] in components:
            continue
        line, column = find_position(query, member.start(1))
        paths = [f"{component}.{name}" for component in components]
        yield QueryWarning(
            "UnknownProperty",
            f"'{name}' is a property of a component: write {owner[1]}.{' or '.join(paths)}",
            line,
            column,
            paths[0] if len(paths) == 1 else None,
        )


def _list_places(outlines: Outlines) -> dict[str, list[str]]:
    """Return the components of each property that only interfaces of components have."""
    uses: dict[str, set[str]] = defaultdict(set)
    for outline in outlines.interfaces.values():
        for component in outline.components:
            for base in outlines.list_ancestors(component.interface):
                uses[base].add(component.name)
    own = {
        one.name
        for outline in outlines.interfaces.values()
        if outline.model_id not in uses
        for one in outline.properties
    }
    places: dict[str, set[str]] = defaultdict(set)
    for model_id, components in uses.items():
        for one in (
            outlines.interfaces[model_id].properties if model_id in outlines.interfaces else ()
        ):
            if one.name not in own:
                places[one.name] |= components
    return {name: sorted(found) for name, found in places.items()}
