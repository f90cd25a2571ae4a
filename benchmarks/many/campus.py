"""The graph of the family «many twins»: a campus with devices of several types.

Each twin is made from its number alone, so that they can be made in any order.
"""

from __future__ import annotations

import random
from array import array
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import cached_property
from typing import Any

from benchmarks.graph import Interfaces

_SEED = 11
_CHAIN = 8
"""Devices that are numbered next to each other and feed each other in a row."""

_BEHIND_HUB = 1600
"""Of so many devices one is fed by every sixteenth."""

VENDORS = 20
FIRMWARES = 12
ZONES = 8
USAGES = ("archive", "kitchen", "laboratory", "lecture", "office", "storage")
TEAMS = ("blue", "green", "red", "white", "yellow")
GRADES = "ABCDE"
KINDS = ("Fan", "Meter", "Sensor", "Valve")
UNITS = ("bar", "degreeCelsius", "percent")
_BEGAN = datetime(2015, 1, 1, tzinfo=UTC)
_DAYS = 3650

Contents = dict[str, Any]


def _property(name: str, schema: object) -> dict[str, object]:
    return {"@type": "Property", "name": name, "schema": schema}


def _properties(**schemas: object) -> list[dict[str, object]]:
    return [_property(name, schema) for name, schema in schemas.items()]


def _relationship(name: str, **schemas: object) -> dict[str, object]:
    return {"@type": "Relationship", "name": name, "properties": _properties(**schemas)}


_TEXTS = {
    "@type": "Map",
    "mapKey": {"name": "key", "schema": "string"},
    "mapValue": {"name": "value", "schema": "string"},
}

INTERFACES: Interfaces = {
    "Controller": (None, _properties(firmware="string", uptime="integer", charge="double")),
    "Asset": (None, [*_properties(name="string"), _relationship("isPartOf")]),
    "Site": ("Asset", []),
    "Building": ("Asset", _properties(year="integer")),
    "Floor": ("Asset", _properties(level="integer")),
    "Room": (
        "Asset",
        [
            *_properties(area="double", capacity="integer", usage="string", occupied="boolean"),
            _relationship("adjacentTo", door="boolean", width="double"),
        ],
    ),
    "Device": (
        "Asset",
        [
            *_properties(vendor="string", batch="string", serial="string", grade="string"),
            *_properties(temperature="double", power="double", running="boolean"),
            *_properties(cycles="integer", installed="dateTime", tags=_TEXTS),
            {
                "@type": "Component",
                "name": "controller",
                "schema": "dtmi:com:example:bench:Controller;1",
            },
            _relationship("feeds", rating="integer", backup="boolean"),
        ],
    ),
    "Fan": ("Device", _properties(speed="integer")),
    "Meter": ("Device", _properties(total="integer")),
    "Sensor": ("Device", _properties(unit="string", accuracy="double")),
    "Valve": ("Device", _properties(position="double")),
}


@dataclass(frozen=True)
class Campus:
    """A campus of `twins` twins: four devices a room, about 200 rooms a floor, ten floors a
    building, five buildings a site.

    What is part of what is a tree. Devices feed each other in chains of four; one chain in six
    closes to a circle of three and one to a circle of four; few devices are fed by a hundred. Each
    room is next to two or three of its floor. No two twins have two relationships of one name.
    """

    twins: int

    @property
    def devices(self) -> int:
        """Devices."""
        return round(self.twins * 0.8)

    @property
    def floors(self) -> int:
        """Floors."""
        return max(1, self.twins // 1000)

    @property
    def buildings(self) -> int:
        """Buildings."""
        return max(1, self.twins // 10_000)

    @property
    def sites(self) -> int:
        """Sites."""
        return max(1, self.twins // 50_000)

    @property
    def rooms(self) -> int:
        """Rooms: what is left."""
        return self.twins - self.devices - self.floors - self.buildings - self.sites

    @property
    def batches(self) -> int:
        """Different batches of devices."""
        return max(1, self.devices // 100)

    def count(self, label: str) -> int:
        """The number of twins of one of the five kinds."""
        return {
            "Site": self.sites,
            "Building": self.buildings,
            "Floor": self.floors,
            "Room": self.rooms,
            "Device": self.devices,
        }[label]

    @cached_property
    def _order(self) -> array[int]:
        """Devices in the order of their chains, in which neighbours have nothing else in common."""
        order = list(range(self.devices))
        random.Random(_SEED).shuffle(order)
        return array("l", order)

    @cached_property
    def rooms_of_devices(self) -> array[int]:
        """For each device its room; the second of each chain is in the room of the first."""
        dice, found = random.Random(_SEED + 1), array("l", bytes(8 * self.devices))
        room = 0
        for place, device in enumerate(self._order):
            if place % 4 != 1:
                room = dice.randrange(self.rooms)
            found[device] = room
        return found

    # --- twins --------------------------------------------------------------------------------

    def build(self, label: str, at: int) -> tuple[str, Contents]:
        """The interface and the contents of a twin of one of the five kinds."""
        match label:
            case "Site":
                return label, {"name": f"Site {at}"}
            case "Building":
                return label, {"name": f"Building {at}", "year": 1950 + (at * 31 + 40) % 75}
            case "Floor":
                return label, {"name": f"Floor {at}", "level": at // self.buildings % 10}
            case "Room":
                return label, _build_room(at)
            case _:
                return _build_device(at, self.batches)

    def list_twins(self) -> Iterator[tuple[str, str, int]]:
        """The id, the kind and the number in it of every twin."""
        for label in ("Site", "Building", "Floor", "Room", "Device"):
            for at in range(self.count(label)):
                yield f"{label.lower()}-{at}", label, at

    # --- relationships ------------------------------------------------------------------------

    def list_parts(self) -> Iterator[tuple[str, int, str, int]]:
        """What is part of what: kind and number of the part, and of what it is part of."""
        for at, room in enumerate(self.rooms_of_devices):
            yield "Device", at, "Room", room
        tree = (("Room", "Floor"), ("Floor", "Building"), ("Building", "Site"))
        for part, whole in tree:
            many = self.count(whole)
            for at in range(self.count(part)):
                yield part, at, whole, at % many

    def list_feeds(self) -> Iterator[tuple[int, int, Contents]]:
        """Which device feeds which, and the properties of that."""
        order, dice = self._order, random.Random(_SEED + 2)
        for place in range(len(order)):
            places = []
            if place % 4 != 3:
                places.append(place + 1)
            if place % 16 == 0 and place % _BEHIND_HUB:
                places.append(place - place % _BEHIND_HUB)
            if place % 24 == 10:
                places.append(place - 2)
            if place % 24 == 19:
                places.append(place - 3)
            for other in places:
                if other < len(order):
                    contents = {"rating": dice.randrange(100), "backup": dice.random() < 0.1}
                    yield order[place], order[other], contents

    def list_neighbours(self) -> Iterator[tuple[int, int, Contents]]:
        """Which room is next to which, each pair once, and the properties of that."""
        dice = random.Random(_SEED + 3)
        for at in range(self.rooms):
            for step in (1, 2) if at // self.floors % 3 == 0 else (1,):
                other = at + step * self.floors
                if other < self.rooms:
                    contents = {"door": dice.random() < 0.4, "width": round(dice.random() * 3, 2)}
                    yield at, other, contents


def _throw(kind: int, at: int) -> random.Random:
    return random.Random(at * 10 + kind)


def _build_room(at: int) -> Contents:
    dice = _throw(1, at)
    return {
        "name": f"Room {at}",
        "area": dice.random() * 90 + 8,
        "capacity": dice.randrange(1, 60),
        "usage": dice.choice(USAGES),
        "occupied": dice.random() < 0.5,
    }


def _build_device(at: int, batches: int) -> tuple[str, Contents]:
    dice = _throw(2, at)
    found: Contents = {
        "name": f"Device {at}",
        "vendor": f"vendor-{dice.randrange(VENDORS):02}",
        "batch": f"batch-{dice.randrange(batches)}",
        "serial": f"{at * 2_654_435_761 % 2**32:08x}-{at % 97:02}",
        "power": dice.random() * 500,
        "running": dice.random() < 0.3,
        "cycles": dice.randrange(1000),
        "installed": render_time(dice.random()),
    }
    if dice.random() > 0.03:
        found["temperature"] = dice.gauss(20, 5)
    found["grade"] = dice.choice(GRADES) if dice.random() < 0.8 else None
    found["controller"] = {
        "$metadata": {},
        "firmware": f"{1 + dice.randrange(FIRMWARES) // 4}.{dice.randrange(4)}",
        "uptime": dice.randrange(100_000),
        "charge": dice.random() * 100,
    }
    tags = {"zone": f"zone-{dice.randrange(ZONES)}"}
    if dice.random() < 0.7:
        tags["team"] = dice.choice(TEAMS)
    found["tags"] = tags
    kind = dice.choices(KINDS, (10, 20, 50, 20))[0]
    return kind, found | _build_own(kind, dice)


def _build_own(kind: str, dice: random.Random) -> Contents:
    """What devices of this type alone have."""
    match kind:
        case "Fan":
            return {"speed": dice.randrange(3000)}
        case "Meter":
            return {"total": dice.randrange(10**9)}
        case "Sensor":
            return {"unit": dice.choice(UNITS), "accuracy": dice.random()}
        case _:
            return {"position": dice.random() * 100}


def render_time(share: float) -> str:
    """A time as text: `share` of the way from the first to the last at which devices came."""
    seconds = int(share * _DAYS * 86_400)
    return f"{_BEGAN + timedelta(seconds=seconds):%Y-%m-%dT%H:%M:%SZ}"
