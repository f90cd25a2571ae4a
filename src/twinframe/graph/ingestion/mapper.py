"""Maps a batch of messages to points and to writes of properties, and says why others give none."""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Final

from twinframe.errors import InvalidArgument, LimitExceeded, TwinframeError
from twinframe.graph.documents.twins import is_source_time
from twinframe.graph.ingestion.expressions import Message
from twinframe.graph.ingestion.mappings import Form, SourceMapping, split_names
from twinframe.graph.ingestion.properties import WriteProperties
from twinframe.graph.ingestion.standing import Refusal
from twinframe.graph.series.lines import LineLimits, ParsedLines, Times, check_ahead
from twinframe.graph.series.paths import check_value
from twinframe.hooks.sources.base import SourceMessage
from twinframe.model.ids import parse_twin_id
from twinframe.model.json import parse_json
from twinframe.model.moments import parse_moment, render_moment
from twinframe.model.values import JsonValue
from twinframe.storage.points import PointValue

_log = logging.getLogger(__name__)

NO_MAPPING: Final = "NoMapping"
NO_VALUE: Final = "NoValue"
PAYLOAD: Final = "PayloadInvalid"
UNFORESEEN: Final = "Unforeseen"

_TOPICS: Final = 20_000
_LAST_MOMENT: Final = parse_moment("9999-12-31T23:59:59Z")


@dataclass(slots=True)
class MappedBatch:
    """What a batch gives. Messages are numbered from 0; those numbers are the lines of `parsed`.

    `refused` has the first refusal of a message, `matched` how many messages each topic of a
    mapping was for.
    """

    parsed: ParsedLines = field(default_factory=ParsedLines)
    writes: list[tuple[int, WriteProperties]] = field(default_factory=list)
    refused: dict[int, Refusal] = field(default_factory=dict)
    matched: Counter[str] = field(default_factory=Counter)


class _NoPayload(Exception):
    """A payload that has not the form of a mapping."""


class Mapper:
    """Maps messages by the mappings of a source. Use it in one thread."""

    def __init__(self, mappings: Sequence[SourceMapping], limits: LineLimits) -> None:
        self._mappings = mappings
        self._limits = limits
        # PERF: 0.1 us for a topic that was seen, where each template takes 1.
        self._match = lru_cache(_TOPICS)(self._find_matches)
        self._check_id = lru_cache(_TOPICS)(parse_twin_id)

    def map(self, messages: Sequence[SourceMessage], times: Times) -> MappedBatch:
        """Map a batch; none of its messages raises an error."""
        batch = MappedBatch()
        for number, message in enumerate(messages):
            try:
                _MessageMapping(self, batch, number, times).map(message)
            except Exception as error:  # noqa: BLE001  (one message must not stop all that follow)
                _log.exception("A message of the topic %s failed.", message.topic)
                batch.refused.setdefault(number, Refusal(UNFORESEEN, repr(error)))
        return batch

    def find_matches(self, topic: str) -> Sequence[tuple[SourceMapping, dict[str, str]]]:
        """Return the mappings for a topic, and its named levels."""
        return self._match(topic)

    def check_id(self, twin_id: str) -> None:
        """Raise `InvalidArgument` for what cannot be the id of a twin."""
        self._check_id(twin_id)

    @property
    def limits(self) -> LineLimits:
        """The limits of a message."""
        return self._limits

    def _find_matches(self, topic: str) -> Sequence[tuple[SourceMapping, dict[str, str]]]:
        found = ((mapping, mapping.topic.match(topic)) for mapping in self._mappings)
        return [(mapping, levels) for mapping, levels in found if levels is not None]


class _MessageMapping:
    """The mapping of one message."""

    def __init__(self, mapper: Mapper, batch: MappedBatch, number: int, times: Times) -> None:
        self._mapper = mapper
        self._batch = batch
        self._number = number
        self._times = times
        self._payloads: dict[Form, JsonValue] = {}
        self._values = 0
        self._refusal: Refusal | None = None

    def map(self, message: SourceMessage) -> None:
        found = self._mapper.find_matches(message.topic)
        for mapping, levels in found:
            self._batch.matched[mapping.topic.text] += 1
            try:
                self._apply(mapping, levels, message)
            except _NoPayload as error:
                self._refuse(Refusal(PAYLOAD, str(error)))
            except TwinframeError as error:
                self._refuse(Refusal(error.code, error.message))
        if not found:
            self._refuse(Refusal(NO_MAPPING, f"No mapping is for the topic {message.topic!a}."))
        elif not self._values:
            names = ", ".join(repr(mapping.topic.text) for mapping, _ in found)
            self._refuse(Refusal(NO_VALUE, f"The mapping of {names} gave no value."))
        if self._refusal is not None:
            self._batch.refused[self._number] = self._refusal

    def _refuse(self, refusal: Refusal) -> None:
        self._refusal = self._refusal or refusal

    def _apply(
        self, mapping: SourceMapping, levels: dict[str, str], message: SourceMessage
    ) -> None:
        document: Message = {
            "topic": levels,
            "payload": self._read_payload(mapping.form, message.payload),
            "key": message.key,
            "headers": dict(message.headers),
            "time": None if message.time is None else render_moment(message.time),
        }
        for element in self._list_elements(mapping, document):
            try:
                self._map_element(mapping, element, message.time)
            except TwinframeError as error:
                self._refuse(Refusal(error.code, error.message))

    def _list_elements(self, mapping: SourceMapping, document: Message) -> Iterator[Message]:
        if mapping.each is None:
            yield document
            return
        items = mapping.each.evaluate(document)
        if items is not None and not isinstance(items, list):
            raise InvalidArgument(f"each: {mapping.each.text!r} must give an array.")
        most = self._mapper.limits.points
        if items and len(items) > most:
            raise LimitExceeded(
                f"The message has {len(items)} elements; at most {most} are taken of one "
                "(Bulk__MaxPoints)."
            )
        for item in items or ():
            yield {**document, "item": item}

    def _map_element(self, mapping: SourceMapping, message: Message, moment: int | None) -> None:
        twin_id = self._find_twin(mapping, message)
        time, text = self._find_time(mapping, message)
        points = [
            (path, check_value(value, path)) for path, value in mapping.points.list_points(message)
        ]
        if points:
            self._add_points(twin_id, points, time if time is not None else moment)
        properties = [
            (split_names(path), value)
            for path, value in mapping.properties.list_properties(message)
        ]
        if properties:
            if time is not None:
                check_ahead(time, self._times.now)
            write = WriteProperties(twin_id, tuple(properties), time, text)
            self._batch.writes.append((self._number, write))
        self._values += len(points) + len(properties)

    def _add_points(
        self, twin_id: str, points: Sequence[tuple[str, PointValue]], time: int | None
    ) -> None:
        times = self._times
        checked = times.now if time is None else times.check(time)
        parsed, sender = self._batch.parsed, (twin_id, None)
        for path, value in points:
            parsed.points.add(twin_id, path, checked, value)
            parsed.lines.append(self._number)
            parsed.senders.append(sender)

    def _find_twin(self, mapping: SourceMapping, message: Message) -> str:
        value = mapping.twin.evaluate(message)
        if isinstance(value, int) and not isinstance(value, bool):
            value = str(value)
        if not isinstance(value, str):
            raise InvalidArgument(
                f"twin: {mapping.twin.text!r} must give the id of a twin, a text."
            )
        self._mapper.check_id(value)
        return value

    def _find_time(self, mapping: SourceMapping, message: Message) -> tuple[int | None, str | None]:
        """Return the time of the source in microseconds and as a text, None where it gives none."""
        value = None if mapping.time is None else mapping.time.evaluate(message)
        if value is None:
            return None, None
        if isinstance(value, str):
            moment = parse_moment(value)
            return moment, value if is_source_time(value) else render_moment(moment)
        if isinstance(value, bool) or not isinstance(value, int | float):
            raise InvalidArgument("time: it must be a text, or a number with a timeUnit.")
        if mapping.unit is None:
            raise InvalidArgument(
                f"time: {value} is a number: the mapping must say of which timeUnit since 1970."
            )
        moment = _convert(value, mapping.unit)
        if not 0 <= moment <= _LAST_MOMENT:
            raise InvalidArgument(f"time: {value} is not of the years 1970 to 9999.")
        return moment, render_moment(moment)

    def _read_payload(self, form: Form, payload: bytes) -> JsonValue:
        if form in self._payloads:
            return self._payloads[form]
        limits = self._mapper.limits
        if len(payload) > limits.bytes:
            raise LimitExceeded(
                f"The payload has {len(payload)} bytes; at most {limits.bytes} are taken "
                "(Graph__MaxTwinBytes)."
            )
        value: JsonValue
        try:
            value = (
                payload.decode()
                if form == "text"
                else parse_json(payload, limits.json, noun="payload")
            )
        except UnicodeDecodeError as error:
            raise _NoPayload("The payload is not text in UTF-8.") from error
        except TwinframeError as error:
            raise _NoPayload(f"The payload cannot be read: {error.message}") from error
        self._payloads[form] = value
        return value


def _convert(value: float, unit: float) -> int:
    """Return microseconds. NOTE: integers are exact; of doubles, microseconds of today are."""
    if isinstance(value, int):
        return value * int(unit) if unit >= 1 else value // round(1 / unit)
    return round(value * unit)
