"""Parses lines of points: one JSON object a line, with a twin, a time, and one or more values."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Final

from twinframe.errors import InvalidArgument, LimitExceeded, OperationNotAllowed, TwinframeError
from twinframe.errors.nearest import render_hint
from twinframe.graph.series.paths import ChosenPaths, check_value, list_values
from twinframe.model.ids import parse_component_name, parse_twin_id
from twinframe.model.json import JsonLimits, parse_json
from twinframe.model.moments import SECOND, parse_moment, render_moment
from twinframe.model.paths import parse_path
from twinframe.model.values import JsonValue
from twinframe.storage.points import Points

AHEAD: Final = 300 * SECOND
"""How far a clock may be ahead of the service's: five minutes."""

_MEMBERS: Final = ("twinId", "component", "path", "value", "payload", "time")
_KNOWN: Final = frozenset(_MEMBERS)
_LONGEST: Final = 100

Sender = tuple[str, str | None]
"""A twin's id, and its component or None."""


@dataclass(slots=True)
class ParsedLines:
    """Points of the lines that could be read, and why the others could not.

    `lines` and `senders` are of each point; lines are counted from 1.
    """

    points: Points = field(default_factory=Points)
    lines: list[int] = field(default_factory=list)
    senders: list[Sender] = field(default_factory=list)
    count: int = 0
    errors: dict[int, tuple[str | None, TwinframeError]] = field(default_factory=dict)

    def refuse(
        self, refused: Mapping[Sender, TwinframeError], chosen: Mapping[Sender, ChosenPaths]
    ) -> None:
        """Leave out the points of refused senders, and of others those of no chosen path.

        A line with some points of chosen paths is not an error.
        """
        points, lines, senders = self.points, self.lines, self.senders
        self.points, self.lines, self.senders = Points(), [], []
        columns = (points.twins, points.paths, points.times, points.values)
        left_out: dict[tuple[int, Sender], str] = {}
        for line, sender, twin_id, path, *point in zip(lines, senders, *columns, strict=True):
            error, choice = refused.get(sender), chosen.get(sender)
            if error is not None:
                self.errors[line] = twin_id, error
            elif choice is not None and not choice.has(path):
                left_out.setdefault((line, sender), path)
            else:
                self.points.add(twin_id, path, *point)
                self.lines.append(line)
                self.senders.append(sender)
        remaining = set(zip(self.lines, self.senders, strict=True))
        for line, sender in left_out:
            if (line, sender) not in remaining:
                path, model_id = left_out[line, sender], chosen[sender].model_id
                error = OperationNotAllowed(
                    f"The telemetry {path[:_LONGEST]!a} of {sender[0]} is not kept: its model "
                    f"{model_id} does not declare it as Historized (History__Telemetry)."
                )
                self.errors[line] = sender[0], error


@dataclass(frozen=True, slots=True)
class Times:
    """`now`, and the `first` time of which points are kept, in microseconds."""

    now: int
    first: int

    def check(self, moment: int) -> int:
        """Return a time that a point can have. Raises `InvalidArgument`."""
        if moment < self.first:
            raise InvalidArgument(
                f"{render_moment(moment)} is too old: points are kept from "
                f"{render_moment(self.first)} on."
            )
        return check_ahead(moment, self.now)


@dataclass(frozen=True, slots=True)
class LineLimits:
    """The most `points` of a body, the most `bytes` of a line, and what its JSON may hold."""

    points: int
    bytes: int
    json: JsonLimits


def parse_lines(body: bytes, times: Times, limits: LineLimits) -> ParsedLines:
    """Parse a body of lines.

    Raises `LimitExceeded` for more points, and `InvalidArgument` for a body without lines.
    """
    parser = _LineParser(times, limits)
    parsed = parser.parsed
    for number, line in enumerate(_split(body), 1):
        if not line or line.isspace():
            continue
        parsed.count += 1
        parser.parse(number, line)
        if parsed.count > limits.points or len(parsed.lines) > limits.points:
            raise LimitExceeded(
                f"The request has more than {limits.points} lines or points, which is the most "
                "that is taken at once (Bulk__MaxPoints); nothing was stored."
            )
    if not parsed.count:
        raise InvalidArgument("Payload is invalid: the body must have a JSON object a line.")
    return parsed


def _split(body: bytes) -> Iterator[bytes]:
    """Yield the lines without their ends. NOTE: only line feeds end lines of JSON."""
    start = 0
    while (end := body.find(b"\n", start)) >= 0:
        yield body[start:end]
        start = end + 1
    yield body[start:]


class _LineParser:
    """PERF: 6 us a line; what is alike in many lines is checked once."""

    def __init__(self, times: Times, limits: LineLimits) -> None:
        self.parsed = ParsedLines()
        self._times = times
        self._limits = limits
        self._senders: dict[Sender, Sender] = {}
        self._paths: dict[tuple[str | None, str], str] = {}

    def parse(self, number: int, line: bytes) -> None:
        """Add the points of a line, or its error."""
        document: JsonValue = None
        try:
            # SEC: the values of a text take up to twenty times its bytes.
            if len(line) > self._limits.bytes:
                raise LimitExceeded(
                    f"The line has {len(line)} bytes; at most {self._limits.bytes} are taken "
                    "(Graph__MaxTwinBytes)."
                )
            document = parse_json(line, self._limits.json)
            self._parse(number, document)
        except TwinframeError as error:
            twin = document.get("twinId") if isinstance(document, dict) else None
            self.parsed.errors[number] = twin if isinstance(twin, str) else None, error

    def _parse(self, number: int, document: JsonValue) -> None:
        if not isinstance(document, dict):
            raise InvalidArgument("Payload is invalid. A line is a JSON object.")
        if not document.keys() <= _KNOWN:
            name = next(name for name in document if name not in _KNOWN)
            hint = render_hint(name, _MEMBERS)
            raise InvalidArgument(f"A line has no member {name[:100]!r}. {hint}")
        sender = self._check_sender(document.get("twinId"), document.get("component"))
        time = self._check_time(document.get("time"))
        path = document.get("path")
        if path is not None and "value" in document and "payload" not in document:
            place = self._check_path(sender[1], path)
            found = [(place, check_value(document["value"], place))]
        else:
            found = [
                (parse_path(place), check_value(value, place))
                for place, value in self._list_payload(document, sender[1] or "")
            ]
        parsed = self.parsed
        for place, value in found:
            parsed.points.add(sender[0], place, time, value)
            parsed.lines.append(number)
            parsed.senders.append(sender)

    def _check_sender(self, twin_id: JsonValue, component: JsonValue) -> Sender:
        if not isinstance(twin_id, str):
            raise InvalidArgument("A line needs its twinId, a string.")
        if component is not None and not isinstance(component, str):
            raise InvalidArgument("The component of a line is a string.")
        sender = self._senders.get((twin_id, component))
        if sender is not None:
            return sender
        parse_twin_id(twin_id)
        if component is not None:
            parse_component_name(component)
        return self._senders.setdefault((twin_id, component), (twin_id, component))

    def _check_path(self, component: str | None, path: JsonValue) -> str:
        if not isinstance(path, str):
            raise InvalidArgument("The path of a line is a string.")
        place = self._paths.get((component, path))
        if place is not None:
            return place
        place = parse_path(f"{component}/{path}" if component else path)
        return self._paths.setdefault((component, path), place)

    def _list_payload(
        self, document: dict[str, JsonValue], prefix: str
    ) -> list[tuple[str, JsonValue]]:
        payload = document.get("payload")
        if not isinstance(payload, dict) or "path" in document or "value" in document:
            raise InvalidArgument(
                "A line has either a path and a value, or a payload, which is an object of values."
            )
        found = list(list_values(payload, prefix))
        if not found:
            raise InvalidArgument("The payload of a line has no value.")
        return found

    def _check_time(self, text: JsonValue) -> int:
        if text is None:
            return self._times.now
        if not isinstance(text, str):
            raise InvalidArgument("The time of a line is a string.")
        return self._times.check(parse_moment(text))


def check_ahead(moment: int, now: int) -> int:
    """Return a moment that is not in the future, but for clocks that differ a little."""
    if moment - now <= AHEAD:
        return moment
    raise InvalidArgument(
        f"{render_moment(moment)} is in the future: the service's clock says {render_moment(now)}."
    )
