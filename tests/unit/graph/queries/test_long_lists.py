"""A value is looked up in a list alike in every storage, whatever its length and its elements."""

from __future__ import annotations

from typing import Any

import orjson
import pytest

from twinframe.testing.factories import FLOOR, ROOM

LONG = [*range(-20, 1_200)]
LISTS: dict[str, list[Any]] = {
    "numbers": [3, 4.0, 7.5, 0],
    "many-numbers": LONG,
    "mixed": [3, "3", True, None, 4.5],
    "many-mixed": [*LONG, "r3", True, None, 4.5],
    "strings": ["r3", "f1", "nope"],
    "many-strings": [f"r{number}" for number in LONG],
    "only-null": [None],
    "empty": [],
}
CONDITIONS = (
    "t.temperature IN $l",
    "NOT t.temperature IN $l",
    "(t.level IN $l) IS NULL",
    "t.temperature IN $l OR t.level IN $l",
    "t.level IN $l AND t.level > 1",
    "t.$dtId IN $l",
    "NOT t.$dtId IN $l",
    "t.readings IN $l",
    "EXISTS { MATCH (t)-->(u) WHERE u.temperature IN $l }",
)


@pytest.fixture
def filled(world: Any) -> Any:
    """Six rooms with temperatures of every form, one without, and three floors."""
    for at, value in enumerate((3.0, 4.0, 4.5, 7.5, -0.0, 9e15)):
        world.put(f"r{at}", ROOM, temperature=value, readings=[value])
    world.put("r9", ROOM)
    for at in range(3):
        world.put(f"f{at}", FLOOR, level=at + 1)
    world.relate("r0", "x", "r1")
    world.relate("r9", "x", "r5")
    return world


def find(world: Any, text: str, members: list[Any]) -> list[str]:
    page = world.do(world.graph.queries.run(text, {"l": members}, None, 100))
    return sorted(orjson.loads(row)["i"] for row in page.rows)


@pytest.mark.parametrize("name", LISTS)
def test_membership_of_any_list_is_what_its_comparisons_say(filled: Any, name: str) -> None:
    members = LISTS[name]
    # Of a long list only what may matter is compared one by one.
    few = [each for each in members if each not in LONG or -5 <= each < 12]
    for condition in CONDITIONS:
        if name == "many-strings" and "$dtId" in condition:
            few = ["r0", "r1", "r2", "r3", "r4", "r5", "r9"]
        elif name == "many-strings":
            few = ["r0"]
        spelt = " OR ".join(f"($l[{at}] = t.X)" for at in range(len(few))) or "false"
        compared = _spell(condition, spelt)
        text = f"MATCH (t) WHERE {condition} RETURN t.$dtId AS i"
        expected = find(filled, f"MATCH (t) WHERE {compared} RETURN t.$dtId AS i", few)
        assert find(filled, text, members) == expected, condition


def _spell(condition: str, spelt: str) -> str:
    """The condition with comparisons in the place of each IN."""
    for member in ("t.temperature", "t.level", "t.$dtId", "t.readings", "u.temperature"):
        condition = condition.replace(f"{member} IN $l", f"({spelt.replace('t.X', member)})")
    return condition
