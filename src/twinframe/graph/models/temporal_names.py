"""Reads the names of members that hold dates, times or durations in some stored model.

They are read from the stored documents, without parsing models: a name too many only costs speed
where it is used, and none that a model declares is missing.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Final, NamedTuple

import orjson

from twinframe.query.evaluate.member_typing import Declared
from twinframe.storage.base import GraphSession

TEMPORAL_SCHEMAS: Final = frozenset({"date", "dateTime", "time", "duration"})
_MODELS_AT_ONCE: Final = 100
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
    position = 0
    while records := session.read_models(after=position, limit=_MODELS_AT_ONCE):
        for record in records:
            document = orjson.loads(record.document)
            reading.add_interface(document)
            reading.add_declared(record.model_id, document)
        position = records[-1].position
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

    def add_interface(self, document: object) -> None:
        """Add a DTDL interface of a document, or one within another one."""
        if not isinstance(document, dict):
            return
        mentioned = self._find_schemas({"extends": document.get("extends")})
        self._find_schemas(document.get("schemas"))
        for base in _list(document.get("extends")):
            self._add_inner(base)
        for content in _list(document.get("contents")):
            if isinstance(content, dict):
                mentioned |= self._add_content(content)
        self._keep(document, mentioned)

    def add_declared(self, model_id: str, document: dict[str, object]) -> None:
        """Add the properties of a stored interface whose own schema is temporal."""
        for content in _list(document.get("contents")):
            if not isinstance(content, dict) or "Property" not in _list(content.get("@type")):
                continue
            name, schema = content.get("name"), content.get("schema")
            if isinstance(name, str) and isinstance(schema, str) and _is_temporal(schema):
                kinds = self.declared.setdefault(name, {})
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

    def _add_inner(self, document: object) -> None:
        if isinstance(document, dict):
            contents = [one for one in _list(document.get("contents")) if isinstance(one, dict)]
            self.inner.update(str(content.get("name")) for content in contents)
        self.add_interface(document)

    def _add_content(self, content: dict[str, object]) -> set[str]:
        """Add a content; return the schemas of its values."""
        types = _list(content.get("@type"))
        if "Relationship" in types:
            for inner in _list(content.get("properties")):
                self._add_member(inner)
            return set()
        if "Component" in types:
            self._add_inner(content.get("schema"))
        elif "Property" not in types:
            return set()
        return self._add_member(content)

    def _add_member(self, member: object) -> set[str]:
        if not isinstance(member, dict) or not isinstance(member.get("name"), str):
            return set()
        found = self._find_schemas(member)
        self.members.append((member["name"], found))
        return found

    def _find_schemas(self, part: object) -> set[str]:
        """Return every schema and interface that a part of a document refers to, at any depth."""
        found: set[str] = set()
        if isinstance(part, dict):
            for key, value in part.items():
                if key in _REFERRING:
                    found.update(one for one in _list(value) if isinstance(one, str))
                found |= self._find_schemas(value)
            self._keep(part, found)
        elif isinstance(part, list):
            for item in part:
                found |= self._find_schemas(item)
        return found

    def _keep(self, element: dict[str, object], mentioned: set[str]) -> None:
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


def _list(value: object) -> list[object]:
    if isinstance(value, list):
        return value
    return [] if value is None else [value]
