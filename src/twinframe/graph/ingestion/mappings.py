"""Mappings: documents that say which points and properties the messages of a topic give."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, Literal, TypeAlias

from twinframe.errors import InvalidArgument
from twinframe.errors.nearest import render_hint
from twinframe.graph.ingestion.expressions import Expression, Message, parse_expression
from twinframe.graph.ingestion.topics import TopicTemplate, parse_template
from twinframe.graph.series.paths import list_values
from twinframe.hooks.sources.base import TopicForm
from twinframe.model.paths import build_path, parse_path, split_path
from twinframe.model.values import JsonValue

Form: TypeAlias = Literal["json", "text"]

_MEMBERS: Final = (
    ("topic", "payload", "each", "twin", "time", "timeUnit", "points", "properties")
)  # fmt: skip
_FORMS: Final[tuple[Form, ...]] = ("json", "text")
UNITS: Final = {"s": 1_000_000.0, "ms": 1000.0, "us": 1.0, "ns": 0.001}
"""Microseconds of a unit of time."""

_INSERTED: Final = re.compile(r"\{([^{}]*)\}")
_TWIN: Final = "twin"


@dataclass(frozen=True, slots=True)
class PathTemplate:
    """A path in which expressions in braces are replaced by their values.

    `texts` stand before, between and after the `expressions`.
    """

    texts: tuple[str, ...]
    expressions: tuple[Expression, ...]

    def fill(self, message: Message) -> str:
        """Return the path. Raises `InvalidArgument`."""
        if not self.expressions:
            return self.texts[0]
        parts = [self.texts[0]]
        for expression, text in zip(self.expressions, self.texts[1:], strict=True):
            value = expression.evaluate(message)
            if isinstance(value, bool) or not isinstance(value, str | int):
                raise InvalidArgument(f"A path needs a text, and {expression.text!r} gave none.")
            parts += [build_path("", str(value)), text]
        return parse_path("".join(parts))


@dataclass(frozen=True, slots=True)
class ValueMap:
    """Values by path: those of the expression of each path, or all members of one object."""

    members: tuple[tuple[PathTemplate, Expression], ...] = ()
    whole: Expression | None = None

    def list_points(self, message: Message) -> Iterator[tuple[str, JsonValue]]:
        """Yield path and value, of objects those in them. Raises `InvalidArgument`."""
        for path, value in self.list_properties(message):
            found = list_values(value, path) if isinstance(value, dict) else [(path, value)]
            yield from (pair for pair in found if pair[1] is not None)

    def list_properties(self, message: Message) -> Iterator[tuple[str, JsonValue]]:
        """Yield path and value, without those that are null. Raises `InvalidArgument`."""
        for template, expression in self.members:
            value = expression.evaluate(message)
            if value is not None:
                yield template.fill(message), value
        if self.whole is None:
            return
        document = self.whole.evaluate(message)
        if isinstance(document, dict):
            for name, value in document.items():
                if value is not None:
                    yield parse_path(build_path("", name)), value
        elif document is not None:
            raise InvalidArgument(f"{self.whole.text!r} must give an object of values by name.")


NO_VALUES: Final = ValueMap()


@dataclass(frozen=True, slots=True)
class SourceMapping:
    """A parsed mapping. `unit` is that of times that are numbers, in microseconds."""

    topic: TopicTemplate
    form: Form
    each: Expression | None
    twin: Expression
    time: Expression | None
    unit: float | None
    points: ValueMap
    properties: ValueMap


def parse_mappings(documents: object, form: TopicForm) -> tuple[SourceMapping, ...]:
    """Parse the mappings of a source. Raises `InvalidArgument`, which says where."""
    if not isinstance(documents, list) or not documents:
        raise InvalidArgument(
            'must be a JSON array of mappings, such as [{"topic": "rooms/{twin}/temperature", '
            '"points": {"temperature": "payload"}}]'
        )
    found = []
    for number, document in enumerate(documents):
        try:
            found.append(parse_mapping(document, form))
        except InvalidArgument as error:
            raise InvalidArgument(f"mapping {number}: {error.message}") from error
    return tuple(found)


def parse_mapping(document: object, form: TopicForm) -> SourceMapping:
    """Parse one mapping. Raises `InvalidArgument`."""
    if not isinstance(document, dict):
        raise InvalidArgument("A mapping is a JSON object.")
    unknown = next((name for name in document if name not in _MEMBERS), None)
    if unknown is not None:
        hint = render_hint(unknown, _MEMBERS)
        raise InvalidArgument(f"A mapping has no member {unknown[:100]!r}. {hint}")
    topic = document.get("topic")
    if not isinstance(topic, str):
        raise InvalidArgument("A mapping needs its topic, a text.")
    return _MappingParser(document, parse_template(topic, form)).parse()


class _MappingParser:
    def __init__(self, document: Mapping[str, Any], topic: TopicTemplate) -> None:
        self._document = document
        self._topic = topic
        self._is_item = "each" in document

    def parse(self) -> SourceMapping:
        points, properties = self._parse_values("points"), self._parse_values("properties")
        if points == properties == NO_VALUES:
            raise InvalidArgument("A mapping needs points, properties or both.")
        unit = self._parse_choice("timeUnit", UNITS)
        return SourceMapping(
            self._topic,
            self._parse_choice("payload", _FORMS) or "json",
            self._parse("each", is_item=False),
            self._parse_twin(),
            self._parse("time"),
            None if unit is None else UNITS[unit],
            points,
            properties,
        )

    def _parse_twin(self) -> Expression:
        twin = self._parse(_TWIN)
        if twin is not None:
            return twin
        if _TWIN in self._topic.names:
            return parse_expression("topic.twin", self._topic.names, is_item=False)
        raise InvalidArgument(
            "A mapping needs a twin: an expression, or a level {twin} of the topic."
        )

    def _parse(self, member: str, *, is_item: bool = True) -> Expression | None:
        if member not in self._document:
            return None
        return self._parse_at(member, self._document[member], is_item=is_item)

    def _parse_at(self, where: str, text: object, *, is_item: bool = True) -> Expression:
        try:
            return parse_expression(text, self._topic.names, is_item=is_item and self._is_item)
        except InvalidArgument as error:
            raise InvalidArgument(f"{where}: {error.message}") from error

    def _parse_values(self, member: str) -> ValueMap:
        given = self._document.get(member)
        if given is None and member not in self._document:
            return NO_VALUES
        if isinstance(given, str):
            return ValueMap(whole=self._parse_at(member, given))
        if not isinstance(given, dict) or not given:
            raise InvalidArgument(
                f"{member}: must be an object of expressions by path, or an expression that gives "
                "an object of values."
            )
        return ValueMap(
            tuple(
                (self._parse_path(member, path), self._parse_at(f"{member}: {path}", expression))
                for path, expression in given.items()
            )
        )

    def _parse_path(self, member: str, path: str) -> PathTemplate:
        where = f"{member}: {path}"
        pieces = _INSERTED.split(path)
        expressions = tuple(self._parse_at(where, text) for text in pieces[1::2])
        try:
            parse_path(_INSERTED.sub("x", path))
            if member == "properties":
                split_names(_INSERTED.sub("x", path))
        except InvalidArgument as error:
            raise InvalidArgument(f"{where}: {error.message}") from error
        return PathTemplate(tuple(pieces[0::2]), expressions)

    def _parse_choice(self, member: str, choices: Collection[Any]) -> Any:
        value = self._document.get(member)
        if member in self._document and (not isinstance(value, str) or value not in choices):
            known = ", ".join(choices)
            raise InvalidArgument(f"{member}: {value!r} is none of {known}.")
        return value


def split_names(path: str) -> tuple[str, ...]:
    """Return the names of the path of a property. Raises `InvalidArgument`."""
    names = tuple(split_path(path))
    found = next((name for name in names if name.startswith("$")), None)
    if found is not None:
        raise InvalidArgument(f"{found[:100]} is set by the service: it is no property.")
    return names


def list_filters(mappings: Sequence[SourceMapping]) -> tuple[str, ...]:
    """Return the filters to subscribe to, each once."""
    return tuple(dict.fromkeys(mapping.topic.filter for mapping in mappings))
