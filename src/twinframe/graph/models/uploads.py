"""Prepares uploaded models for the store: sorts them, parses them in pieces, builds records.

A piece is parsed together with its dependencies and then dropped: parsed models take twenty times
their text, and an upload may have tens of thousands.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import orjson

from twinframe.dtdl import SERVICE, Interface, parse_models
from twinframe.dtdl.outline import ModelOutline, read_elements
from twinframe.errors import LimitExceeded
from twinframe.graph.context.model_cache import build_resolver
from twinframe.model.values import JsonValue
from twinframe.storage.base import GraphSession, ModelRecord

PIECE_MODELS: Final = 250
PIECE_BYTES: Final = 512 * 1024


@dataclass(frozen=True, slots=True)
class Upload:
    """Parsed models and the schema version against which they were parsed."""

    records: tuple[ModelRecord, ...]
    version: int


@dataclass(frozen=True, slots=True)
class Outline:
    """The facts for sorting a model: its id, its dependencies, its bytes."""

    model_id: str
    rests_on: tuple[str, ...]
    size: int


def outline_model(document: JsonValue, size: int) -> Outline:
    """Return the outline of a document; one that is no model has an empty id."""
    model_id = document.get("@id") if isinstance(document, dict) else None
    if not isinstance(document, dict) or not isinstance(model_id, str):
        return Outline("", (), size)
    found: dict[str, None] = {}
    for base in ModelOutline(document).bases:
        found[base] = None
    for content in read_elements(document.get("contents")):
        schema = content.get("schema")
        if isinstance(schema, str) and schema.startswith("dtmi:"):
            found[schema] = None
    return Outline(model_id, tuple(found), size)


def cut_pieces(outlines: Sequence[Outline]) -> list[list[int]]:
    """Return the indexes of models in pieces, each model not before its dependencies.

    Raises `LimitExceeded` for a dependency cycle of more models than a piece may have.
    """
    pieces: list[list[int]] = []
    size = 0
    for group in _order(outlines):
        weight = sum(outlines[place].size for place in group)
        if len(group) > 1 and (len(group) > PIECE_MODELS or weight > PIECE_BYTES):
            raise LimitExceeded(
                f"{len(group)} models rest on one another in a circle, such as "
                f"{outlines[group[0]].model_id}; that is no model of anything."
            )
        is_full = pieces and len(pieces[-1]) + len(group) > PIECE_MODELS
        if not pieces or is_full or size + weight > PIECE_BYTES:
            pieces.append([])
            size = 0
        pieces[-1] += group
        size += weight
    return pieces


def _order(outlines: Sequence[Outline]) -> Iterator[list[int]]:
    """Yield the indexes, dependencies first; those in a cycle together (Tarjan)."""
    places = {one.model_id: place for place, one in enumerate(outlines)}
    numbers: dict[int, int] = {}
    lowest: dict[int, int] = {}
    waiting: dict[int, None] = {}

    def enter(place: int) -> tuple[int, Iterator[int]]:
        numbers[place] = lowest[place] = len(numbers)
        waiting[place] = None
        return place, (places[one] for one in outlines[place].rests_on if one in places)

    for root in range(len(outlines)):
        path = [] if root in numbers else [enter(root)]
        while path:
            place, below = path[-1]
            found = next(below, None)
            if found is None:
                path.pop()
                if path:
                    above = path[-1][0]
                    lowest[above] = min(lowest[above], lowest[place])
                if lowest[place] == numbers[place]:
                    yield _take_group(waiting, place)
            elif found not in numbers:
                path.append(enter(found))
            elif found in waiting:
                lowest[place] = min(lowest[place], numbers[found])


def _take_group(waiting: dict[int, None], first: int) -> list[int]:
    group: list[int] = []
    while not group or group[-1] != first:
        group.append(waiting.popitem()[0])
    return group


def parse_upload(session: GraphSession, documents: Sequence[JsonValue], moment: str) -> Upload:
    """Return the records of DTDL documents, in their order, under the state that `session` sees.

    Errors: `ModelParsingFailed`, `ModelVersionNotSupported`, `LimitExceeded`.
    """
    version = session.read_schema_version()
    sizes = [len(orjson.dumps(document)) for document in documents]
    if len(documents) <= PIECE_MODELS and sum(sizes) <= PIECE_BYTES:
        return Upload(parse_piece(session, documents, moment), version)
    outlines = [outline_model(*each) for each in zip(documents, sizes, strict=True)]
    by_id = {one.model_id: document for one, document in zip(outlines, documents, strict=True)}
    if len(by_id) < len(documents):  # some have one id, or none: reported with the other errors
        return Upload(parse_piece(session, documents, moment), version)
    records: dict[int, ModelRecord] = {}
    for piece in cut_pieces(outlines):
        made = parse_piece(session, [documents[place] for place in piece], moment, by_id.get)
        records.update(zip(piece, made, strict=True))
    return Upload(tuple(records[place] for place in range(len(documents))), version)


def parse_piece(
    session: GraphSession,
    documents: Sequence[JsonValue],
    moment: str,
    find: Callable[[str], JsonValue] = lambda _model_id: None,
) -> tuple[ModelRecord, ...]:
    """Return the records of documents parsed together; `find` gives others of the upload.

    Errors: `ModelParsingFailed`, `ModelVersionNotSupported`.
    """
    stored = build_resolver(session)

    def resolve(model_ids: frozenset[str]) -> Iterable[object]:
        found = {model_id: find(model_id) for model_id in model_ids}
        yield from (document for document in found.values() if document is not None)
        yield from stored(frozenset(one for one in model_ids if found[one] is None))

    parsed = parse_models(documents, resolve=resolve, limits=SERVICE)
    return tuple(
        _build_record(parsed.interfaces[model_id], document, moment)
        for model_id, document in zip(parsed.uploaded, documents, strict=True)
    )


def _build_record(interface: Interface, document: JsonValue, moment: str) -> ModelRecord:
    bases = frozenset(interface.extends)
    return ModelRecord(
        model_id=interface.id,
        document=_render(document),
        display_name=_render_texts(interface.display_name),
        description=_render_texts(interface.description),
        extends=interface.extends,
        components=tuple(x for x in interface.dependencies if x not in bases),
        upload_time=moment,
    )


def _render_texts(texts: Mapping[str, str]) -> bytes:
    return _render(dict(texts)) if texts else b"{}"


def _render(value: JsonValue | dict[str, str]) -> bytes:
    """PERF: orjson's own text keeps its buffer, 4 KB at least: 720 MB for 60,000 models."""
    return bytes(memoryview(orjson.dumps(value)))
