"""A day of the sample campus: what its rooms and equipment did until now, which leads to
`build_campus`.

The curves follow the hours of this machine's time zone, the same each time for the same end.
"""

from __future__ import annotations

import math
import random
from collections.abc import Iterator, Mapping
from datetime import datetime, timedelta
from itertools import count, takewhile
from typing import Any, Final, NamedTuple, cast

from twinframe.demo.building import FAILED_UNIT, WARM_FROM, WARM_ROOMS, Building

DAY: Final = timedelta(hours=24)
FAILURE: Final = timedelta(minutes=80)
"""How long ago the fan of `FAILED_UNIT` failed. Its rooms are too warm some minutes later."""
GATEWAY, OPERATOR = "building gateway", "operator"
"""Who made the changes."""
_NORTH: Final = "b1-"
_MINUTE, _HOUR = 60.0, 3600.0
_SLOWNESS: Final = 30 * _MINUTE
"""Seconds in which a room without air covers two thirds of the way to its last temperature."""
_AIR: Final = 420.0
"""Carbon dioxide in fresh air, in parts of a million."""
_LEAST: Final = 0.15
"""Degrees by which a temperature must differ from what was reported last."""

Path = tuple[str, ...]


class Update(NamedTuple):
    """Values that a twin got at a time, in seconds since 1970, by their paths.

    The first of each path is what it had from the beginning of the day.
    """

    time: float
    twin: str
    values: Mapping[Path, object]
    who: str = GATEWAY


class Point(NamedTuple):
    """A value of telemetry, with its time in seconds since 1970."""

    time: float
    twin: str
    path: str
    value: float


def list_updates(campus: Building, now: datetime) -> list[Update]:
    """List what changed in the day before `now`, in the order of time."""
    day = _Day(campus, now)
    return sorted(day.iterate_updates(), key=lambda update: update.time)


def iterate_points(campus: Building, now: datetime) -> Iterator[Point]:
    """Yield the telemetry of the day before `now`, series by series."""
    return _Day(campus, now).iterate_points()


class _Day:
    """The day before `now`."""

    def __init__(self, campus: Building, now: datetime) -> None:
        self._twins = cast("Mapping[str, Mapping[str, Any]]", campus.twins)
        self._end = now.timestamp()
        self._begin = self._end - DAY.total_seconds()
        self._failure = self._end - FAILURE.total_seconds()

    def iterate_updates(self) -> Iterator[Update]:
        """Yield them twin by twin."""
        for twin, document in self._twins.items():
            if "climate" in document:
                yield from self._iterate_room(twin, document)
            elif twin.endswith("-ahu"):
                yield from self._iterate_unit(twin, document)
            elif twin.endswith(("-t", "-c")):
                yield from self._iterate_sensor(twin, document)

    def iterate_points(self) -> Iterator[Point]:
        """Yield them series by series."""
        for twin, document in self._twins.items():
            dice = random.Random(f"{twin} points")  # noqa: S311  (sample data, not a secret)
            if twin.endswith("-chiller"):
                for time in self._iterate_times(dice, 5 * _MINUTE):
                    share = 0.25 + 0.6 * _warmth(time) + dice.uniform(-0.02, 0.02)
                    yield Point(time, twin, "power", round(share * document["ratedPower"], 1))
            elif "climate" in document and twin.startswith(_NORTH):
                for time in self._iterate_times(dice, 15 * _MINUTE):
                    most = document["capacity"] * _presence(time)
                    yield Point(time, twin, "peopleCount", round(dice.uniform(0, most)))

    # --- twins ------------------------------------------------------------------------------------

    def _iterate_room(self, twin: str, document: Mapping[str, Any]) -> Iterator[Update]:
        """Report temperature and humidity where they differ, and whether somebody is there."""
        dice = random.Random(twin)  # noqa: S311
        climate, swing = document["climate"], dice.uniform(0.8, 1.6)
        reported, stays = math.inf, (-1.0, False)
        for time in self._iterate_times(dice, *self._find_steps(twin)):
            is_last = time == self._end
            celsius = round(self._find_celsius(twin, document, time, swing, dice), 1)
            if time >= stays[0]:
                stays = time + dice.uniform(0.5, 2.5) * _HOUR, dice.random() < _presence(time)
            values: dict[Path, object] = {
                ("occupied",): document["occupied"] if is_last else stays[1]
            }
            if is_last or abs(celsius - reported) > _LEAST:
                reported = celsius
                humidity = climate["humidity"] - 2 * (celsius - climate["temperature"])
                values |= {
                    ("climate", "temperature"): celsius,
                    ("climate", "humidity"): round(humidity, 1),
                }
            yield Update(time, twin, values)
        if twin in WARM_ROOMS:
            yield Update(self._begin, twin, {("climate", "mode"): "auto"})
            reacted = self._end - dice.uniform(10, 20) * _MINUTE
            yield Update(reacted, twin, {("climate", "mode"): climate["mode"]}, OPERATOR)

    def _iterate_unit(self, twin: str, document: Mapping[str, Any]) -> Iterator[Update]:
        dice = random.Random(twin)  # noqa: S311
        failed = twin == FAILED_UNIT
        usual = 62.0 if failed else document["fanSpeed"]
        if failed:
            yield Update(self._begin, twin, {("status",): "ok"})
        for time in self._iterate_times(dice, _HOUR):
            if failed and time >= self._failure:
                break
            speed = usual * (1 + 0.4 * (_presence(time) - _presence(self._end)))
            yield Update(time, twin, {("fanSpeed",): round(min(speed, 100.0), 1)})
        if failed:
            speed = document["fanSpeed"]
            yield Update(self._failure, twin, {("fanSpeed",): speed, ("status",): "fault"})

    def _iterate_sensor(self, twin: str, document: Mapping[str, Any]) -> Iterator[Update]:
        dice = random.Random(twin)  # noqa: S311
        room, last = twin[:-2], document["lastValue"]
        swing = dice.uniform(0.8, 1.6)
        for time in self._iterate_times(dice, (1 if twin.startswith(_NORTH) else 4) * _HOUR):
            if time == self._end:
                value = last
            elif twin.endswith("-t"):
                celsius = self._find_celsius(room, self._twins[room], time, swing, dice)
                value = round(celsius, 1)
            else:
                share = (_presence(time) + 0.1) / (_presence(self._end) + 0.1)
                value = float(round(_AIR + (last - _AIR) * min(share, 1.2)))
            yield Update(time, twin, {("lastValue",): value})

    def _find_celsius(
        self,
        room: str,
        document: Mapping[str, Any],
        time: float,
        swing: float,
        dice: random.Random,
    ) -> float:
        """The temperature of a room: a wave over the day, up to the last value."""
        last = float(document["climate"]["temperature"])
        if time == self._end:
            return last
        wave = swing * (_warmth(time) - _warmth(self._end)) + dice.uniform(-0.05, 0.05)
        if room not in WARM_ROOMS:
            return min(last + wave, max(last, WARM_FROM - 0.2))
        usual = 22.6 + 0.3 * (last - 25)
        if time < self._failure:
            return min(usual + wave, WARM_FROM - 0.4)
        passed = 1 - math.exp((self._failure - time) / _SLOWNESS)
        whole = 1 - math.exp((self._failure - self._end) / _SLOWNESS)
        return usual + (last - usual) * passed / whole

    # --- times ------------------------------------------------------------------------------------

    def _find_steps(self, room: str) -> tuple[float, float]:
        """Seconds between two looks at a room, before and after the failure."""
        if room in WARM_ROOMS:
            return 15 * _MINUTE, 5 * _MINUTE
        step = (20 if room.startswith(_NORTH) else 90) * _MINUTE
        return step, step

    def _iterate_times(
        self, dice: random.Random, step: float, late: float | None = None
    ) -> Iterator[float]:
        """Yield times from the beginning to the end, which are both among them. `late` is the
        step after the failure.
        """
        yield self._begin
        first = self._begin + dice.uniform(0.1, 1) * step
        steps = (first + step * number for number in count())
        before = self._end if late is None else self._failure
        yield from takewhile(lambda time: time < min(before, self._end), steps)
        if late is not None:
            first = self._failure + dice.uniform(0.1, 1) * late
            yield from takewhile(
                lambda time: time < self._end, (first + late * number for number in count())
            )
        yield self._end


def _read_hour(time: float) -> float:
    """The hour of the day at a time, on this machine."""
    local = datetime.fromtimestamp(time)  # noqa: DTZ006  (rooms live by their clock)
    return local.hour + local.minute / 60


def _warmth(time: float) -> float:
    """0 at the coolest of a day, towards the morning; 1 at the warmest, in the afternoon."""
    return 0.5 - 0.5 * math.cos((_read_hour(time) - 3) / 24 * 2 * math.pi)


def _presence(time: float) -> float:
    """The share of rooms in use: 0.03 at night, 0.65 in the middle of the day."""
    return 0.03 + 0.62 * math.exp(-(((_read_hour(time) - 12.5) / 3.8) ** 4))
