"""Resolves names that assistants give to stored ones, or refuses them with the nearest one."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final

from twinframe.errors import InvalidArgument
from twinframe.errors.nearest import find_nearest
from twinframe.graph.models.outlines import Outlines
from twinframe.model.ids import build_model_name
from twinframe.model.values import JsonValue

_MOST: Final = 5
_LONGEST: Final = 200


def find_models(outlines: Outlines, given: Sequence[str]) -> frozenset[str]:
    """Return the ids of the interfaces of these ids or names; `InvalidArgument` for unknown ones.

    A name means each interface of that name, whatever its namespace and version.
    """
    found = set[str]()
    for name in given:
        plain = name.strip("`")
        matching = {
            model_id
            for model_id in outlines.interfaces
            if plain in (model_id, build_model_name(model_id))
        }
        if not matching:
            raise InvalidArgument(
                f"There is no interface {name[:_LONGEST]!r}{suggest_model(outlines, name)}"
            )
        found |= matching
    return frozenset(found)


def suggest_model(outlines: Outlines, name: str) -> str:
    """Return `; did you mean 'x'?` with the nearest interface, else how to find one."""
    by_name = {build_model_name(model_id): model_id for model_id in outlines.interfaces}
    nearest = find_nearest(build_model_name(name), by_name)
    if nearest is not None:
        return f"; did you mean '{by_name[nearest]}'?"
    return "; search_models finds interfaces by words."


def warn_of_relationships(outlines: Outlines, given: Iterable[str]) -> list[JsonValue]:
    """Return a sentence for each name of a relationship that no stored model defines."""
    known = {one.name for outline in outlines.interfaces.values() for one in outline.relationships}
    warnings: list[JsonValue] = []
    for name in given:
        if name not in known:
            nearest = find_nearest(name, known)
            hint = f"; did you mean '{nearest}'?" if nearest else "; describe_graph shows them."
            warnings.append(f"No stored model has the relationship {name[:_LONGEST]!r}{hint}")
    return warnings


def list_some(names: Iterable[str], most: int = _MOST) -> str:
    """Render the first few of the names, and how many more there are."""
    all_ = list(names)
    more = [] if len(all_) <= most else [f"… {len(all_) - most} more"]
    return ", ".join([*all_[:most], *more])
