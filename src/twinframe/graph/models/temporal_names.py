"""Reads the names of members that hold dates, times or durations in some stored model.

They are read from the stored documents, without parsing models: a name too many only costs speed
where it is used, and none that a model declares is missing.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Final, NamedTuple

from twinframe.dtdl.outline import ContentOutline, Element, ModelOutline, read_list
from twinframe.graph.context.model_cache import read_documents
from twinframe.query.evaluate.member_typing import Declared
from twinframe.storage.base import GraphSession

TEMPORAL_SCHEMAS: Final = frozenset({"date", "dateTime", "time", "duration"})
_REFERRING: Final = frozenset({"schema", "elementSchema", "extends"})


class TemporalNames(NamedTuple):
    """The temporal names: properties and components of twins, and properties of relationships.

    `declared` has the names of those twin properties whose own schema is temporal, with the
    interfaces that declare them. It leaves out names that an interface within another document
    declares.
    """

    names: frozenset[str]
    declared: Mapping[str, Declared]


def read_temporal_names(session: GraphSession) -> TemporalNames:
    """Return the temporal names that the stored models declare.

    PERF: as reading the names for warnings, 20 ms for the 767 interfaces of a large ontology.
    """
    reading = _Reading()
    for record, outline in read_documents(session):
        reading.add_interface(outline)
        reading.add_declared(record.model_id, outline)
    return TemporalNames(reading.find_names(), reading.find_declared())


@dataclass(slots=True)
class _Reading:
    """The names and schemas read so far.

    `members` are names with the schemas each refers to, `mentions` the same for everything with an
    id: interfaces and schemas, which members of any model may refer to.
    """

    members: list[tuple[str, set[str]]] = field(default_factory=list)
    declared: dict[str, dict[str, list[str]]] = field(default_factory=dict)
    inner: set[str] = field(default_factory=set)
    """The names that an interface within another document declares."""
    mentions: dict[str, set[str]] = field(default_factory=dict)

    def add_interface(self, outline: ModelOutline) -> None:
        """Add a DTDL interface of a document, or one within another one."""
        mentioned = self._find_schemas({"extends": outline.document.get("extends")})
        self._find_schemas(outline.document.get("schemas"))
        for inner in outline.inner:
            self.inner.update(content.name for content in inner.contents)
            self.add_interface(inner)
        for content in outline.contents:
            mentioned |= self._add_content(content)
        self._keep(outline.document, mentioned)

    def add_declared(self, model_id: str, outline: ModelOutline) -> None:
        """Add the properties of a stored interface whose own schema is temporal."""
        for content in outline.contents:
            schema = content.schema
            if content.kind == "Property" and isinstance(schema, str) and _is_temporal(schema):
                kinds = self.declared.setdefault(content.name, {})
                kinds.setdefault(_read_term(schema), []).append(model_id)

    def find_declared(self) -> Mapping[str, Declared]:
        """Return the members that are declared only by interfaces with a document of their own."""
        return {name: kinds for name, kinds in self.declared.items() if name not in self.inner}

    def find_names(self) -> frozenset[str]:
        """Return the members that contain a temporal value, at any depth."""
        holding = {one for one in self._list_mentioned() if _is_temporal(one)}
        waiting = True
        while waiting:
            found = {
                one
                for one, mentioned in self.mentions.items()
                if one not in holding and not mentioned.isdisjoint(holding)
            }
            holding |= found
            waiting = bool(found)
        return frozenset(name for name, found in self.members if not found.isdisjoint(holding))

    def _list_mentioned(self) -> Iterable[str]:
        for _, mentioned in self.members:
            yield from mentioned
        for mentioned in self.mentions.values():
            yield from mentioned

    def _add_content(self, content: ContentOutline) -> set[str]:
        """Add a content; return the schemas of its values."""
        if content.kind == "Relationship":
            for each in content.properties:
                self._add_member(each)
        return self._add_member(content) if content.kind in ("Property", "Component") else set()

    def _add_member(self, member: ContentOutline) -> set[str]:
        found = self._find_schemas(member.element)
        self.members.append((member.name, found))
        return found

    def _find_schemas(self, part: object) -> set[str]:
        """Return every schema and interface that a part of a document refers to, at any depth."""
        found: set[str] = set()
        if isinstance(part, dict):
            for key, value in part.items():
                if key in _REFERRING:
                    found.update(one for one in read_list(value) if isinstance(one, str))
                found |= self._find_schemas(value)
            self._keep(part, found)
        elif isinstance(part, list):
            for item in part:
                found |= self._find_schemas(item)
        return found

    def _keep(self, element: Element, mentioned: set[str]) -> None:
        name = element.get("@id")
        if isinstance(name, str):
            self.mentions.setdefault(name, set()).update(mentioned)


def _is_temporal(schema: str) -> bool:
    """Return whether a schema is temporal, by its term, or by its DTMI:
    `dtmi:dtdl:instance:Schema:dateTime;2`.
    """
    return _read_term(schema) in TEMPORAL_SCHEMAS


def _read_term(schema: str) -> str:
    return schema.rpartition(":")[2].partition(";")[0]
