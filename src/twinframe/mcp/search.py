"""Builds the query for a full-text search over twins, and extracts what matched."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

import orjson

from twinframe.errors import InvalidArgument
from twinframe.graph.models.outlines import Outlines
from twinframe.model.values import JsonValue

_MOST_WORDS: Final = 5
_MOST_PROPERTIES: Final = 25
_TEXT: Final = "string"
_LONGEST: Final = 200


@dataclass(frozen=True, slots=True)
class Search:
    """A search: its words, the searched properties, the query and its values."""

    words: tuple[str, ...]
    properties: tuple[str, ...]
    query: str
    parameters: Mapping[str, JsonValue]


def build_search(outlines: Outlines, text: str, model_ids: frozenset[str]) -> Search:
    """Build the search for twins that contain each word of `text` in id or text properties.

    It searches the 25 properties that most interfaces have. SEC: words are passed as parameters;
    only names of stored models are written into the query, quoted.
    """
    words = tuple(dict.fromkeys(text.lower().split()))
    if not words:
        raise InvalidArgument("search_text holds no word.")
    if len(words) > _MOST_WORDS:
        raise InvalidArgument(f"search_text has {len(words)} words; at most {_MOST_WORDS} count.")
    properties = _choose_properties(outlines, model_ids)
    members = ["t.`$dtId`", *(f"t.{quote(name)}" for name in properties)]
    conditions = [
        "(" + " OR ".join(f"toLower({member}) CONTAINS $w{at}" for member in members) + ")"
        for at in range(len(words))
    ]
    if model_ids:
        labels = "|".join(map(quote, sorted(model_ids)))
        pattern = f"MATCH (t:{labels})"
    else:
        pattern = "MATCH (t:Twin)"
    return Search(
        words,
        properties,
        f"{pattern} WHERE {' AND '.join(conditions)} RETURN t",
        {f"w{at}": word for at, word in enumerate(words)},
    )


def find_matches(row: dict[str, dict[str, JsonValue]], search: Search) -> bytes:
    """Render a hit as JSON: the twin's id and model, its name, and the other members that
    matched.
    """
    twin = row["t"]
    metadata = twin["$metadata"]
    hit: dict[str, JsonValue] = {
        "twin_id": twin["$dtId"],
        "model_id": metadata.get("$model") if isinstance(metadata, dict) else None,
    }
    for name in dict.fromkeys(["name", *search.properties]):
        value = twin.get(name)
        if isinstance(value, str) and (
            name == "name" or any(word in value.lower() for word in search.words)
        ):
            hit[name] = value[:_LONGEST]
    return orjson.dumps(hit)


def quote(name: str) -> str:
    """Render a name for a query."""
    return f"`{name.replace('`', '``')}`"


def _choose_properties(outlines: Outlines, model_ids: frozenset[str]) -> tuple[str, ...]:
    """List names of text properties, those of most interfaces first; of these models, if any."""
    seen = Counter[str]()
    for model_id in outlines.interfaces:
        ancestors = outlines.list_ancestors(model_id)
        if model_ids and model_ids.isdisjoint(ancestors):
            continue
        seen.update(
            one.name
            for outline, _ in outlines.list_contents(model_id)
            for one in outline.properties
            if one.schema == _TEXT
        )
    ranked = sorted(seen, key=lambda name: (name != "name", -seen[name], name))
    return tuple(ranked[:_MOST_PROPERTIES])
