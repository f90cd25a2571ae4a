"""Objects that are built when they are first used."""

from __future__ import annotations

from abc import ABC, abstractmethod

import pytest

from twinframe.runtime.late import build_late, load_late


class Shelf(ABC):
    """The base of a seam."""

    size: int = 0

    @abstractmethod
    def find(self, name: str, *, most: int = 1) -> list[str]:
        """Find things."""

    def count(self) -> int:
        """A method with a body of its own."""
        return -1

    @abstractmethod
    def close(self) -> None:
        """Close it."""


class RealShelf(Shelf):
    def __init__(self, said: list[str]) -> None:
        self._said = said
        said.append("built")

    def find(self, name: str, *, most: int = 1) -> list[str]:
        return [name] * most

    def count(self) -> int:
        return 3

    def close(self) -> None:
        self._said.append("closed")


def open_shelf(said: list[str]) -> Shelf:
    return build_late(
        Shelf,  # type: ignore[type-abstract]  # its methods are those of what is built
        lambda: RealShelf(said),
        close=lambda: said.append("closed unused"),
        size=7,
    )


def test_it_is_built_once_at_its_first_call() -> None:
    said: list[str] = []
    shelf = open_shelf(said)
    assert isinstance(shelf, Shelf)
    assert shelf.size == 7
    assert said == []
    assert shelf.find("a", most=2) == ["a", "a"]
    assert shelf.count() == 3
    shelf.close()
    assert said == ["built", "closed"]


def test_closing_it_unused_builds_nothing() -> None:
    said: list[str] = []
    open_shelf(said).close()
    assert said == ["closed unused"]


def test_an_error_of_building_is_raised_again_at_each_call() -> None:
    def fail() -> Shelf:
        raise RuntimeError("no library")

    shelf = build_late(Shelf, fail, close=lambda: None)  # type: ignore[type-abstract]  # as above
    for _ in range(2):
        with pytest.raises(RuntimeError, match="no library"):
            shelf.count()


def test_a_service_builds_those_that_are_late() -> None:
    said: list[str] = []
    load_late(open_shelf(said), None, RealShelf([]))
    assert said == ["built"]
