from __future__ import annotations

import asyncio
import errno
import json
import os
from pathlib import Path
from typing import Any

import pytest

from tests.unit.access.authentication.issuer_double import FakeClock
from tests.unit.access.authentication.token_factory import public_jwk
from twinframe.access.authentication.keys import MAX_SET_BYTES, KeyFile
from twinframe.errors import Unauthenticated

# A good set of keys, but for its length.
LONG = json.dumps({"keys": [public_jwk("ed", kid="b")]}) + " " * MAX_SET_BYTES


class World:
    """A file of keys and its reader."""

    def __init__(self, folder: Path) -> None:
        self.path = folder / "keys.json"
        self.clock = FakeClock()
        self.source = KeyFile(self.path, self.clock)

    def write(self, *kids: str) -> None:
        self.write_text(json.dumps({"keys": [public_jwk("ed", kid=kid) for kid in kids]}))

    def write_text(self, text: str) -> None:
        """As a careful writer does: the file is whole at any moment."""
        fresh = self.path.with_suffix(".new")
        fresh.write_text(text)
        fresh.replace(self.path)

    def knows(self, kid: str) -> bool:
        try:
            asyncio.run(self.source.find(kid, "EdDSA"))
        except Unauthenticated:
            return False
        return True


@pytest.fixture
def world(tmp_path: Path) -> World:
    return World(tmp_path)


def test_keys_of_a_file_are_known_and_no_others(world: World) -> None:
    world.write("a")
    assert world.knows("a")
    assert not world.knows("b")


def test_a_change_that_could_not_be_read_at_once_is_read_later(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    world.write("withdrawn")
    assert world.knows("withdrawn")
    world.write("new")
    world.clock.advance(1)
    with monkeypatch.context() as patch:
        patch.setattr(Path, "open", refuse_to_open)
        assert world.knows("withdrawn")
    world.clock.advance(1)
    assert not world.knows("withdrawn")
    assert world.knows("new")


def refuse_to_open(*_arguments: object) -> None:
    raise OSError(errno.EMFILE, "Too many open files")


def test_a_changed_file_is_read_again_within_a_second(world: World) -> None:
    world.write("a")
    assert world.knows("a")
    world.write("b")
    world.clock.advance(1)
    assert world.knows("b")
    assert not world.knows("a")
    assert world.source.generation == 1


def test_a_file_of_the_same_size_and_time_is_read_again_when_it_is_another_file(
    world: World,
) -> None:
    world.write("a")
    assert world.knows("a")
    before = world.path.stat()
    world.write("b")
    os.utime(world.path, ns=(before.st_atime_ns, before.st_mtime_ns))
    world.clock.advance(1)
    assert world.knows("b")


def test_looking_after_the_file_costs_nothing_between_two_seconds(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    world.write("a")
    assert world.knows("a")
    looks: list[Path] = []
    real = Path.stat

    def stat(path: Path, **rest: Any) -> os.stat_result:
        looks.append(path)
        return real(path, **rest)

    monkeypatch.setattr(Path, "stat", stat)
    for _ in range(100):
        assert world.source.touch()
    assert looks == []
    world.clock.advance(1)
    world.source.touch()
    assert len(looks) == 1


@pytest.mark.parametrize("text", ["", "garbage", "{}", '{"keys": 1}', "[]", '{"keys": [', LONG])
def test_a_broken_file_leaves_the_keys_that_were_read_last(
    world: World, text: str, caplog: pytest.LogCaptureFixture
) -> None:
    world.write("a")
    assert world.knows("a")
    world.write_text(text)
    for _ in range(3):
        world.clock.advance(1)
        assert world.knows("a")
    assert caplog.text.count("is no use") == 1
    assert str(world.path) in caplog.text
    world.write("b")
    world.clock.advance(1)
    assert world.knows("b")


def test_a_file_of_no_keys_withdraws_them_all(
    world: World, caplog: pytest.LogCaptureFixture
) -> None:
    world.write("a")
    assert world.knows("a")
    world.write()
    world.clock.advance(1)
    assert not world.knows("a")
    assert world.source.generation == 1
    assert "tokens are refused" in caplog.text


def test_a_file_that_is_deleted_leaves_the_keys_and_one_that_comes_later_is_read(
    world: World,
) -> None:
    asyncio.run(world.source.start())
    assert not world.knows("a")
    world.write("a")
    world.clock.advance(1)
    assert world.knows("a")
    world.path.unlink()
    world.clock.advance(1)
    assert world.knows("a")


def test_a_folder_in_place_of_the_file_gives_no_keys(world: World) -> None:
    world.path.mkdir()
    assert not world.knows("a")
