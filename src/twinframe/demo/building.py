"""Generates the sample building: about 2,000 twins, the same every time."""

from __future__ import annotations

import json
import random
from dataclasses import dataclass, field
from datetime import date, timedelta
from importlib.resources import files

PREFIX = "dtmi:com:example:building:"
BUILDINGS = ("North Wing", "South Wing", "Laboratory", "Library")
LEVELS = 6
ROOMS = 17
HERE = (9.9841, 53.5412)
"""Where the site is: longitude and latitude, in degrees."""
METRE = (1.51e-5, 8.98e-6)
"""Degrees of longitude and latitude of one metre there."""
GROUNDS = ((-75, 25, 65, 24), (10, 25, 65, 24), (-75, -50, 65, 24), (20, -66, 40, 40))
"""The ground of each building in metres from there: west, south, width, depth."""
MAKERS = ("Aerotec", "Borealis", "Klimaworks", "Sensora")
WARM_FROM = 24.0
"""Degrees above which a room is too warm."""
FAILED_UNIT, FAILED_SPEED = "b1-l2-ahu", 8.0
"""The air handling unit whose fan has failed, and the speed that is left."""
WARM_ROOMS = {
    f"b1-l2-r{number:02}": celsius
    for number, celsius in ((2, 25.1), (3, 26.4), (4, 25.8), (6, 24.9), (7, 26.9), (8, 25.3))
}
"""The rooms that are too warm for it, the only ones of the North Wing, with their degrees."""

Document = dict[str, object]


@dataclass(frozen=True, slots=True)
class Edge:
    """A relationship to be created: `document` is the body of its PUT."""

    source: str
    id: str
    document: Document


@dataclass(slots=True)
class Building:
    """The sample as the bodies of its requests: twins by id, then relationships."""

    twins: dict[str, Document] = field(default_factory=dict)
    edges: list[Edge] = field(default_factory=list)

    def add(self, twin_id: str, interface: str, **contents: object) -> str:
        """Add a twin of `interface` (last name segment) and give back its id."""
        self.twins[twin_id] = {"$metadata": {"$model": f"{PREFIX}{interface};1"}, **contents}
        return twin_id

    def list_twins(self) -> list[Document]:
        """List all twins for a bulk write, each with its `$dtId`."""
        return [{"$dtId": twin_id, **document} for twin_id, document in self.twins.items()]

    def list_relationships(self) -> list[Document]:
        """List all relationships for a bulk write, each with its source and id."""
        return [
            {"$sourceId": edge.source, "$relationshipId": edge.id, **edge.document}
            for edge in self.edges
        ]

    def relate(self, source: str, name: str, target: str, **properties: object) -> None:
        """Relate two twins; the relationship's id names both ends."""
        document = {"$relationshipName": name, "$targetId": target, **properties}
        self.edges.append(Edge(source, f"{name}-{target}", document))


def load_ontology() -> list[Document]:
    """The sample's DTDL interfaces, ready for POST /models."""
    text = files("twinframe.demo").joinpath("ontology.json").read_text(encoding="utf-8")
    ontology: list[Document] = json.loads(text)
    return ontology


def build_campus() -> Building:
    """Build the whole campus, the same each time."""
    campus = Building()
    dice = random.Random(2026)  # noqa: S311  (sample data, not a secret)
    site = campus.add(
        "site", "Site", name="Harbour Campus", area=48000.0, owner="Example University",
        tags={"region": "coast"}, address=_address("Harbour Road 1", 0, 0),
    )  # fmt: skip
    for number, name in enumerate(BUILDINGS, start=1):
        building = _add_building(campus, dice, number, name)
        campus.relate(site, "contains", building, since="2012-05-01")
    return campus


def _position(east: float, north: float) -> tuple[float, float]:
    """Longitude and latitude of a position in metres from the site."""
    return round(HERE[0] + east * METRE[0], 6), round(HERE[1] + north * METRE[1], 6)


def _outline(west: float, south: float, width: float, depth: float) -> Document:
    """A rectangle as GeoJSON, counterclockwise."""
    east, north = west + width, south + depth
    corners = ((west, south), (east, south), (east, north), (west, north), (west, south))
    return {"type": "Polygon", "coordinates": [[list(_position(*one)) for one in corners]]}


def _address(street: str, east: float, north: float) -> Document:
    longitude, latitude = _position(east, north)
    return {
        "street": street,
        "city": "Exampleton",
        "postalCode": "01234",
        "country": "Examplia",
        "position": {"latitude": latitude, "longitude": longitude},
    }


def _equipment(dice: random.Random, serial: str, **contents: object) -> Document:
    installed = date(2012, 5, 1) + timedelta(days=dice.randrange(3600))
    service = installed + timedelta(days=dice.randrange(1200))
    return {
        "manufacturer": dice.choice(MAKERS),
        "serialNumber": serial,
        "installed": installed.isoformat(),
        "status": dice.choices(("ok", "warning", "fault"), (90, 8, 2))[0],
        "maintenance": {
            "lastService": service.isoformat(),
            "interval": dice.choice(("P6M", "P1Y", "P2Y")),
            "hoursRun": dice.randrange(60_000),
        },
        **contents,
    }


def _add_building(campus: Building, dice: random.Random, number: int, name: str) -> str:
    key = f"b{number}"
    west, south, width, depth = GROUNDS[number - 1]
    building = campus.add(
        key, "Building", name=name, area=round(dice.uniform(4000, 9000), 1),
        yearBuilt=dice.randrange(1965, 2020), accessible=number != 3,
        outline=_outline(west, south, width, depth),
        address=_address(f"Harbour Road {number * 2}", west + width / 2, south + depth / 2),
    )  # fmt: skip
    chiller = campus.add(
        f"{key}-chiller", "Chiller", name=f"Chiller {number}",
        **_equipment(dice, f"CH-{number:04}", ratedPower=round(dice.uniform(200, 450), 1)),
    )  # fmt: skip
    campus.relate(building, "suppliedBy", chiller)
    campus.relate(chiller, "locatedIn", building)
    for level_number in range(LEVELS):
        level = _add_level(campus, dice, key, level_number, chiller)
        campus.relate(building, "contains", level)
    return building


def _add_level(
    campus: Building, dice: random.Random, building: str, number: int, chiller: str
) -> str:
    key = f"{building}-l{number}"
    level = campus.add(
        key, "Level", name=f"Level {number}", levelNumber=number,
        area=round(dice.uniform(600, 1400), 1),
    )  # fmt: skip
    unit = campus.add(
        f"{key}-ahu", "AirHandlingUnit", name=f"Air handling unit {number}",
        **_equipment(
            dice, f"AH-{building}-{number}", fanSpeed=round(dice.uniform(30, 95), 1),
            filterChanged="2026-03-14T08:00:00Z",
        ),
    )  # fmt: skip
    if unit == FAILED_UNIT:
        campus.twins[unit] |= {"fanSpeed": FAILED_SPEED, "status": "fault"}
    campus.relate(unit, "locatedIn", level)
    campus.relate(chiller, "feeds", unit, capacityShare=round(1 / LEVELS, 3))
    previous = None
    for room_number in range(1, ROOMS + 1):
        room = _add_room(campus, dice, key, room_number, unit)
        campus.relate(level, "contains", room)
        if previous is not None:
            campus.relate(previous, "adjacentTo", room)
        previous = room
    return level


def _add_room(campus: Building, dice: random.Random, level: str, number: int, unit: str) -> str:
    key = f"{level}-r{number:02}"
    kind = "Corridor" if number == 1 else "MeetingRoom" if number % 5 == 0 else "Office"
    by_kind: dict[str, Document] = {
        "Corridor": {"emergencyExit": dice.random() < 0.5},
        "MeetingRoom": {
            "bookable": True,
            "features": dice.sample(["screen", "camera", "whiteboard", "phone"], 2),
        },
        "Office": {"desks": dice.randrange(1, 7)},
    }
    temperature = _find_temperature(key, round(dice.gauss(21.5, 1.6), 1))
    room = campus.add(
        key, kind, name=f"{kind} {level[-1]}.{number:02}", area=round(dice.uniform(9, 60), 1),
        capacity=dice.randrange(2, 24), occupied=dice.random() < 0.4,
        climate={
            "temperature": temperature, "humidity": round(dice.uniform(30, 60), 1),
            "setpoint": 21.0, "mode": "cooling" if temperature > 23 else "auto",
        },
        **by_kind[kind],
    )  # fmt: skip
    terminal = campus.add(
        f"{key}-vav", "AirTerminal", name=f"Air terminal {number}",
        **_equipment(dice, f"AT-{key}", damper=round(dice.uniform(0, 100), 1)),
    )  # fmt: skip
    campus.relate(unit, "feeds", terminal, capacityShare=round(1 / ROOMS, 3))
    campus.relate(terminal, "feeds", room)
    _add_sensors(campus, dice, room, temperature)
    return room


def _find_temperature(room: str, usual: float) -> float:
    """The degrees of a room: in the North Wing, the failed unit alone lets rooms be too warm."""
    if room in WARM_ROOMS:
        return WARM_ROOMS[room]
    if room.startswith("b1-") and usual > WARM_FROM:
        return round(usual - 2, 1)
    return usual


def _add_sensors(campus: Building, dice: random.Random, room: str, temperature: float) -> None:
    common = {"lastSeen": "2026-11-20T12:00:00Z", "samplingSeconds": 60}
    sensors = [
        ("TemperatureSensor", "t", {"lastValue": temperature, "offset": 0.0}),
        ("PresenceSensor", "p", {"lastValue": 0.0, "detections": dice.randrange(100_000)}),
        (
            "CarbonDioxideSensor",
            "c",
            {"lastValue": float(dice.randrange(400, 1400)), "alarmLevel": 1200},
        ),
    ]
    for interface, letter, contents in sensors[: 3 if dice.random() < 0.7 else 2]:
        sensor = campus.add(
            f"{room}-{letter}", interface, name=f"{interface} {room}",
            **_equipment(dice, f"SN-{room}-{letter}", **common, **contents),
        )  # fmt: skip
        campus.relate(sensor, "observes", room)
        campus.relate(sensor, "locatedIn", room)
