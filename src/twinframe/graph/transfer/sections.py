"""The format of the file: its sections and its header.

SPEC: one JSON object a line. `{"Section":"Header"}` comes first, with one line after it; Models,
Twins and Relationships may follow, in this order. Then come the sections that only this service
has: History with a header of its own, the state at its beginning and the changes since; Points. See
`docs/how-to/import-and-export.md`.
"""

from __future__ import annotations

import enum
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Final, cast

import orjson

from twinframe.errors import ImportFileInvalid, InvalidArgument
from twinframe.errors.nearest import find_nearest
from twinframe.graph.history.history import parse_instant
from twinframe.model.clock import render_update_time
from twinframe.model.values import JsonValue

VERSION: Final = "1.0.0"
SECTION: Final = "Section"
OWN: Final = "twinframe"
"""The member of the header for this service's additions to the vendor's format."""


class Section(enum.Enum):
    """A section, in the order in which they come."""

    HEADER = "Header"
    MODELS = "Models"
    TWINS = "Twins"
    RELATIONSHIPS = "Relationships"
    HISTORY = "History"
    PAST_MODELS = "PastModels"
    PAST_TWINS = "PastTwins"
    PAST_RELATIONSHIPS = "PastRelationships"
    CHANGES = "Changes"
    POINTS = "Points"


ORDER: Final = tuple(Section)
STATE: Final = frozenset({Section.MODELS, Section.TWINS, Section.RELATIONSHIPS})
"""The sections of the present state."""
PAST: Final = frozenset(
    {
        Section.PAST_MODELS,
        Section.PAST_TWINS,
        Section.PAST_RELATIONSHIPS,
        Section.CHANGES,
    }
)
"""The sections of the history."""
ALL_MODELS: Final = frozenset({Section.MODELS, Section.PAST_MODELS})


@dataclass(frozen=True, slots=True)
class ModelFacts:
    """The service's facts about a model besides its document; `uploaded` in the wire's form."""

    uploaded: str
    decommissioned: bool = False


@dataclass(frozen=True, slots=True)
class DeletedModel:
    """A model that only twins still refer to, with the interfaces that it extended."""

    model_id: str
    ancestors: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Header:
    """The header of a file.

    `exact`: etags and times of its documents are kept when it is imported; without it each document
    gets new ones, as in the vendor's format. `models`, `deleted`, `points`, whether the file has
    values over time, and `history`, which names the history in it, are in exact files only. That of
    a history has `since`: the moment, in nanoseconds since 1970, of the state at its beginning;
    None: it begins with the empty graph.
    """

    exact: bool = False
    models: Mapping[str, ModelFacts] = field(default_factory=dict)
    deleted: tuple[DeletedModel, ...] = ()
    points: bool = False
    history: str = ""
    since: int | None = None


def render_header(header: Header, author: str = "", organization: str = "") -> bytes:
    """The header's line, without its end."""
    document: dict[str, object] = {"fileVersion": VERSION}
    if author:
        document["author"] = author
    if organization:
        document["organization"] = organization
    if header.exact:
        document[OWN] = {
            "exact": True,
            "models": {
                model_id: {"uploadTime": facts.uploaded, "decommissioned": facts.decommissioned}
                for model_id, facts in header.models.items()
            },
            "deletedModels": {one.model_id: list(one.ancestors) for one in header.deleted},
            **({"points": True} if header.points else {}),
            **({"history": header.history} if header.history else {}),
            **({} if header.since is None else {"since": render_update_time(header.since)}),
        }
    return orjson.dumps(document)


def render_section(section: Section) -> bytes:
    """The line that begins a section, without its end."""
    return orjson.dumps({SECTION: section.value})


def parse_section(document: JsonValue) -> Section | None:
    """Return the section that a line begins; None for a line inside one. `ImportFileInvalid`."""
    if not isinstance(document, dict) or document.keys() != {SECTION}:
        return None
    name = document[SECTION]
    try:
        return Section(name)
    except ValueError:
        names = [each.value for each in ORDER]
        near = find_nearest(str(name), names)
        raise ImportFileInvalid(
            f"There is no section {name!a}; "
            + (f"did you mean {near}?" if near else f"there are {', '.join(names)}.")
        ) from None


def parse_header(document: JsonValue) -> Header:
    """Parse the line after `{"Section":"Header"}`. `ImportFileInvalid`."""
    if not isinstance(document, dict) or not isinstance(document.get("fileVersion"), str):
        raise ImportFileInvalid(
            "The header must be an object with a fileVersion, such as "
            f'{{"fileVersion":"{VERSION}"}}.'
        )
    version = cast("str", document["fileVersion"])
    if version.partition(".")[0] != VERSION.partition(".")[0]:
        raise ImportFileInvalid(
            f"The file is of version {version!a}; {VERSION} is what can be read here."
        )
    own = document.get(OWN)
    if own is None:
        return Header()
    if not isinstance(own, dict):
        raise ImportFileInvalid(f"{OWN} in the header must be an object.")
    history = own.get("history", "")
    if not isinstance(history, str):
        raise ImportFileInvalid(f"{OWN}.history in the header must be a text.")
    return Header(
        exact=own.get("exact") is True,
        models=_parse_models(own),
        deleted=_parse_deleted(own),
        points=own.get("points") is True,
        history=history,
        since=_parse_since(own),
    )


def _parse_since(own: Mapping[str, JsonValue]) -> int | None:
    since = own.get("since")
    if since is None:
        return None
    try:
        return parse_instant(since, f"{OWN}.since in the header")
    except InvalidArgument as error:
        raise ImportFileInvalid(error.message) from error


def check_order(before: Section | None, section: Section, line: int) -> None:
    """Refuse a section that may not come after `before`: `ImportFileInvalid`."""
    if before is None and section is not Section.HEADER:
        raise ImportFileInvalid('The file must begin with {"Section":"Header"}.', line=line)
    if before is not None and ORDER.index(section) <= ORDER.index(before):
        raise ImportFileInvalid(
            f"The section {section.value} cannot come behind {before.value}: the order is "
            f"{', '.join(each.value for each in ORDER)}, each once.",
            line=line,
        )


def _parse_models(own: Mapping[str, JsonValue]) -> dict[str, ModelFacts]:
    models: dict[str, ModelFacts] = {}
    for model_id, facts in _parse_object(own, "models"):
        uploaded = facts.get("uploadTime") if isinstance(facts, dict) else None
        if not isinstance(facts, dict) or not isinstance(uploaded, str):
            raise ImportFileInvalid(
                f"{OWN}.models in the header has no uploadTime of {model_id!a}."
            )
        models[model_id] = ModelFacts(uploaded, facts.get("decommissioned") is True)
    return models


def _parse_deleted(own: Mapping[str, JsonValue]) -> tuple[DeletedModel, ...]:
    deleted = []
    for model_id, ancestors in _parse_object(own, "deletedModels"):
        if not isinstance(ancestors, list) or not all(isinstance(x, str) for x in ancestors):
            raise ImportFileInvalid(
                f"{OWN}.deletedModels in the header must map ids to lists of ids."
            )
        deleted.append(DeletedModel(model_id, tuple(cast("list[str]", ancestors))))
    return tuple(deleted)


def _parse_object(own: Mapping[str, JsonValue], name: str) -> Iterable[tuple[str, JsonValue]]:
    value = own.get(name, {})
    if not isinstance(value, dict):
        raise ImportFileInvalid(f"{OWN}.{name} in the header must be an object.")
    return value.items()
