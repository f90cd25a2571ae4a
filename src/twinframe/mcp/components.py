"""Finds properties that a query reads from a twin itself although they are in one of its
components.

It is used for queries without results, which an assistant might take for an answer.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from itertools import islice
from typing import Final

from twinframe.graph.models.outlines import Outlines
from twinframe.graph.queries.names import QueryWarning
from twinframe.model.values import JsonValue
from twinframe.query.errors import find_position

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
