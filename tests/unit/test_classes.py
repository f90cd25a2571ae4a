"""The project's data classes behave as those of the standard library."""

from __future__ import annotations

import copy
import dataclasses
import pickle
import re
from dataclasses import field
from pathlib import Path
from typing import Any

import pytest

from twinframe.classes import dataclass


@dataclass(frozen=True, slots=True)
class Point:
    """A frozen class with each kind of field."""

    x: int
    y: int = 2
    names: list[str] = field(default_factory=list, hash=False)
    note: str = field(default="", compare=False, repr=False)
    made: str = field(default="here", init=False)


@dataclass(frozen=True, slots=True)
class Named(Point):
    """A subclass with a field that is given by name."""

    name: str = field(default="none", kw_only=True)


@dataclass(slots=True)
class Counter:
    """A class that changes."""

    count: int = 0
    doubled: int = field(init=False, default=0)

    def __post_init__(self) -> None:
        self.doubled = self.count * 2


@dataclass(frozen=True)
class Plain:
    """A frozen class without slots, and without fields."""


@dataclass(slots=True)
class Odd:
    """A class with methods of its own."""

    value: int

    def __eq__(self, other: object) -> bool:
        return True

    def __hash__(self) -> int:
        return 7

    def __repr__(self) -> str:
        return "odd"


@dataclass(frozen=True, slots=True, order=True)
class Version:
    """A class whose instances have an order."""

    major: int
    minor: int = 0


def build_twin(cls: type) -> type:
    """The standard library's class of the same fields."""
    given = [
        (one.name, one.type, field(default=one.default, compare=one.compare, repr=one.repr))
        for one in dataclasses.fields(cls)
        if one.init and one.default_factory is dataclasses.MISSING
    ]
    return dataclasses.make_dataclass(cls.__name__, given, frozen=True, slots=True)


def test_arguments_defaults_and_factories_become_fields() -> None:
    point = Point(1)
    assert (point.x, point.y, point.names, point.note, point.made) == (1, 2, [], "", "here")
    assert Point(1).names is not point.names
    given = Named(1, 3, ["a"], note="n", name="b")
    assert (given.x, given.y, given.names, given.note, given.name) == (1, 3, ["a"], "n", "b")


@pytest.mark.parametrize(
    ("cls", "values", "named"),
    [
        (Point, (), {}),
        (Point, (1, 2, [], "", "there"), {}),
        (Point, (1,), {"x": 1}),
        (Point, (1,), {"z": 1}),
        (Named, (1, 2, [], "", "b"), {}),
    ],
)
def test_wrong_arguments_are_refused_with_the_name_of_the_class(
    cls: Any, values: tuple[Any, ...], named: dict[str, Any]
) -> None:
    for _ in range(2):  # before and after the method is made
        with pytest.raises(TypeError, match=r"(Point|Named)\.__init__\(\)"):
            cls(*values, **named)


def test_equal_fields_make_equal_instances_of_one_class() -> None:
    assert Point(1, note="a") == Point(1, note="b")
    assert Point(1) != Point(2)
    assert Point(1) != Named(1)
    assert Point(1).__eq__(Named(1)) is NotImplemented
    assert hash(Point(1, names=["a"])) == hash(Point(1))
    assert {Named(1), Named(1)} == {Named(1)}
    assert Plain() == Plain()
    assert hash(Plain()) == hash(())


def test_a_class_that_changes_has_no_hash() -> None:
    counter = Counter(2)
    counter.count = 3
    assert (counter.count, counter.doubled) == (3, 4)
    with pytest.raises(TypeError, match="unhashable"):
        hash(counter)


def test_a_frozen_class_refuses_changes() -> None:
    frozen: list[Any] = [Point(1), Named(1), Plain()]
    for made in frozen:
        with pytest.raises(dataclasses.FrozenInstanceError, match="cannot assign to field 'x'"):
            made.x = 2
        with pytest.raises(dataclasses.FrozenInstanceError, match="cannot delete field 'x'"):
            del made.x


def test_methods_of_the_body_are_kept() -> None:
    assert Odd(1) == Odd(2)
    assert hash(Odd(1)) == 7
    assert repr(Odd(1)) == "odd"


def test_instances_are_shown_copied_and_pickled() -> None:
    made: Any
    for made in (Point(1, names=["a"]), Named(1, name="b"), Counter(2), Version(1, 2)):
        assert copy.copy(made) == made
        assert copy.deepcopy(made) == made
        assert pickle.loads(pickle.dumps(made)) == made  # noqa: S301  (of this test)
    assert repr(Point(1)) == "Point(x=1, y=2, names=[], made='here')"
    nested = Point(1)
    nested.names.append(nested)  # type: ignore[arg-type]  # an instance that holds itself
    assert repr(nested) == "Point(x=1, y=2, names=[...], made='here')"


def test_the_functions_of_the_standard_library_know_them() -> None:
    assert dataclasses.is_dataclass(Point)
    assert dataclasses.replace(Named(1, name="a"), x=5) == Named(5, name="a")
    assert dataclasses.asdict(Counter(1)) == {"count": 1, "doubled": 2}
    assert Version(1) < Version(1, 1)
    match Point(1, 5):
        case Point(x, y):
            assert (x, y) == (1, 5)


def test_hashes_and_texts_equal_those_of_the_standard_library() -> None:
    twin = build_twin(Version)
    assert hash(Version(1, 2)) == hash(twin(1, 2))
    assert repr(Version(1, 2)) == repr(twin(1, 2))


def test_all_classes_of_the_project_are_made_so() -> None:
    root = Path(__file__).resolve().parents[2]
    sources = [*root.glob("src/**/*.py"), *root.glob("plugins/*/src/**/*.py")]
    own = root / "src/twinframe/classes.py"
    found = [
        str(path.relative_to(root))
        for path in sources
        if path != own
        and re.search(
            r"^from dataclasses import .*\bdataclass\b|@dataclasses\.",
            path.read_text("utf-8"),
            re.MULTILINE,
        )
    ]
    assert len(sources) > 100
    assert found == []
