"""Checks the names in a query against the stored models, with «did you mean» for unknown ones.

It reads names from stored documents without parsing the models.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Final

from twinframe.dtdl.outline import ModelOutline
from twinframe.errors import QueryInvalid
from twinframe.errors.nearest import find_nearest
from twinframe.graph.context.model_cache import read_documents
from twinframe.model.ids import MODEL_LABEL, OPEN_MODELS, TWIN_LABEL, build_model_name
from twinframe.query.adt.errors import AdtSource
from twinframe.query.algebra import Operator
from twinframe.query.errors import Source, find_position
from twinframe.query.language import Language
from twinframe.query.plan.mentions import Mention, MentionKind, find_mentions
from twinframe.query.spans import Span
from twinframe.storage.base import GraphSession

SYSTEM_MEMBERS: Final = frozenset(
    {
        "$dtId",
        "$etag",
        "$metadata",
        "$relationshipId",
        "$relationshipName",
        "$sourceId",
        "$targetId",
    }
)
_MODEL_RELATIONSHIPS: Final = frozenset({"_extends", "_hasComponent"})
_MOST_WARNINGS: Final = 10
_LONGEST_SUGGESTED: Final = 100


@dataclass(frozen=True, slots=True)
class QueryWarning:
    """A name of the query that no stored model has, at `line` and `column` (from 1; 0: none).

    `code` is `UnknownLabel`, `UnknownModel`, `UnknownRelationship` or `UnknownProperty`.
    """

    code: str
    message: str
    line: int
    column: int
    suggestion: str | None = None


@dataclass(slots=True)
class KnownNames:
    """The names of all stored models, under one schema version."""

    labels: set[str] = field(default_factory=lambda: {TWIN_LABEL, MODEL_LABEL})
    models: set[str] = field(default_factory=set)
    relationships: set[str] = field(default_factory=lambda: set(_MODEL_RELATIONSHIPS))
    properties: set[str] = field(default_factory=lambda: set(SYSTEM_MEMBERS))
    components: set[str] = field(default_factory=set)
    is_open: bool = False
    """Whether there are nodes of an open graph, which may have any names."""

    def find_candidates(self, mention: Mention) -> set[str] | None:
        """Return the names that are possible in this position; None where every name is."""
        if self.is_open:
            return None
        match mention.kind:
            case MentionKind.LABEL:
                return self.labels
            case MentionKind.MODEL:
                return self.models
            case MentionKind.RELATIONSHIP:
                return self.relationships
            case MentionKind.PROPERTY:
                if mention.within is None:
                    return self.properties | self.components
                # Members of objects and maps are values, not names of a model.
                return self.properties if mention.within in self.components else None

    def add_interface(self, outline: ModelOutline) -> None:
        """Add the names of a DTDL interface and of those within it."""
        for content in outline.contents:
            match content.kind:
                case "Relationship":
                    self.relationships.add(content.name)
                    self.properties.update(each.name for each in content.properties)
                case "Component":
                    self.components.add(content.name)
                case "Property":
                    self.properties.add(content.name)
        for inner in outline.inner:
            self.add_interface(inner)


class NameCache:
    """The known names of a graph, read at first use and again when models changed.

    PERF: names are read from the stored documents: 20 ms for the 767 interfaces of a large
    ontology, where parsing them takes seconds.
    """

    def __init__(self) -> None:
        self._known = (-1, KnownNames())

    def open(self, session: GraphSession, version: int) -> KnownNames:
        """Return the names under the schema version that `session` sees. Thread-safe."""
        kept, known = self._known
        if kept != version:
            known = read_names(session)
            self._known = version, known
        return known


def read_names(session: GraphSession) -> KnownNames:
    """The names of all models stored now."""
    known = KnownNames()
    known.models.update(session.read_model_ids())
    known.is_open = any(model_id.startswith(OPEN_MODELS) for model_id in known.models)
    known.labels |= known.models
    known.labels.update(map(build_model_name, known.models))
    for _, outline in read_documents(session):
        known.add_interface(outline)
    return known


@dataclass(frozen=True, slots=True)
class NameCheck:
    """Compares the names of queries with the known ones. `strict` turns a warning into an error."""

    cache: NameCache
    strict: bool

    def check(
        self, session: GraphSession, version: int, text: str, language: Language, root: Operator
    ) -> tuple[QueryWarning, ...]:
        """Return the warnings of a query, at most ten; if strict, raise `QueryInvalid`."""
        mentions = [one for one in find_mentions(root) if one.name not in SYSTEM_MEMBERS]
        if not mentions:
            return ()
        known = self.cache.open(session, version)
        found = list(_find_unknown(known, mentions))
        # SEC: nearest names are searched for a few, short names only: it takes long.
        placed = sorted(((_find_place(text, one), one) for one in found), key=_by_place)
        warnings = tuple(
            _build_warning(known, text, place, one) for place, one in placed[:_MOST_WARNINGS]
        )
        if warnings and self.strict:
            raise _build_error(text, language, placed[0][0], warnings[0])
        return warnings


def _find_unknown(known: KnownNames, mentions: Iterable[Mention]) -> Iterator[Mention]:
    for mention in mentions:
        candidates = known.find_candidates(mention)
        if candidates is not None and mention.name not in candidates:
            yield mention


def _by_place(placed: tuple[Span | None, Mention]) -> tuple[int, str]:
    place, mention = placed
    return (-1 if place is None else place.start), mention.name


def _find_place(text: str, mention: Mention) -> Span | None:
    """Return the span of the name itself within that of its expression."""
    span = mention.span
    if span is None:
        return None
    search = text.rfind if mention.is_last else text.find
    start = search(mention.name, span.start, span.end)
    return span if start < 0 else Span(start, start + len(mention.name))


def _build_warning(
    known: KnownNames, text: str, place: Span | None, mention: Mention
) -> QueryWarning:
    line, column = (0, 0) if place is None else find_position(text, place.start)
    candidates = known.find_candidates(mention) or set()
    suggestion = None
    if len(mention.name) <= _LONGEST_SUGGESTED:
        suggestion = find_nearest(mention.name, candidates)
    hint = f"; did you mean '{suggestion}'?" if suggestion else "."
    name = f"{mention.kind.value} '{mention.name[:_LONGEST_SUGGESTED]}'"
    if mention.kind is MentionKind.MODEL:
        message = f"The {name} is not stored{hint}"
    else:
        message = f"No stored model knows the {name}{hint}"
    return QueryWarning(
        f"Unknown{mention.kind.value.capitalize()}", message, line, column, suggestion
    )


def _build_error(
    text: str, language: Language, place: Span | None, warning: QueryWarning
) -> QueryInvalid:
    source = AdtSource(text) if language is Language.ADT else Source(text)
    return source.error(place, warning.code, warning.message, kind="SemanticError")
