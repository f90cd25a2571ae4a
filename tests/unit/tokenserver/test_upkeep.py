"""The server keeps its keys while it runs: rotated in time; what fails is told and tried anew."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from pathlib import Path

import pytest

from twinframe.errors import ConfigurationError
from twinframe.tokenserver.application import _Upkeep
from twinframe.tokenserver.key_store import KeyPolicy, KeyStore


async def wait_for(condition: Callable[[], bool]) -> None:
    async with asyncio.timeout(120):
        while not condition():  # noqa: ASYNC110  (nothing here can tell)
            await asyncio.sleep(0.005)


def test_keys_are_made_at_the_start_and_rotate_when_their_time_comes(tmp_path: Path) -> None:
    now = [0.0]
    store = KeyStore(tmp_path, KeyPolicy("ES256", 60, 100), clock=lambda: now[0])
    upkeep = _Upkeep(store, 0.005)

    async def run() -> None:
        await upkeep.process_startup(None, None)
        first = store.read()
        now[0] = 100.0
        await wait_for(lambda: store.read().active == first.next)
        await upkeep.process_shutdown(None, None)

    asyncio.run(run())


def test_a_failure_is_told_and_the_next_look_goes_on(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    now = [0.0]
    store = KeyStore(tmp_path, KeyPolicy("ES256", 60, 100), clock=lambda: now[0])
    upkeep = _Upkeep(store, 0.005)

    async def run() -> None:
        await upkeep.process_startup(None, None)
        text = store.path.read_bytes()
        first = store.read()
        store.path.write_bytes(b"damaged")
        with caplog.at_level(logging.ERROR):
            await wait_for(lambda: "cannot be maintained" in caplog.text)
        store.path.write_bytes(text)
        now[0] = 100.0
        await wait_for(lambda: b"damaged" not in store.path.read_bytes())
        await wait_for(lambda: store.read().active == first.next)
        await upkeep.process_shutdown(None, None)

    asyncio.run(run())


def test_keys_that_cannot_be_had_stop_the_start(tmp_path: Path) -> None:
    (tmp_path / "keys.json").write_bytes(b"damaged")
    (tmp_path / "keys.json").chmod(0o600)
    upkeep = _Upkeep(KeyStore(tmp_path, KeyPolicy("ES256", 60, 100)), 0.005)
    with pytest.raises(ConfigurationError, match="does not hold the keys"):
        asyncio.run(upkeep.process_startup(None, None))
    asyncio.run(upkeep.process_shutdown(None, None))


def test_a_change_that_left_no_trace_on_the_file_is_found_by_the_next_look(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    policy = KeyPolicy("ES256", 60, 100)
    server, other = KeyStore(tmp_path, policy), KeyStore(tmp_path, policy)
    server.maintain()
    monkeypatch.setattr(server, "_identify", lambda: (1, 1, 1, 1))
    before = server.read()
    other.rotate()
    assert server.read() is before  # the clock of the file system was too coarse
    server.maintain()
    assert server.read().active == before.next
