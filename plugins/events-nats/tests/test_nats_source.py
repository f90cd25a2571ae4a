"""Messages of a real JetStream stream: what comes, what comes again, what is held back."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any

import nats
import pytest
from pydantic import ValidationError

from tests.waiting import PATIENCE, play
from twinframe.hooks.sources.base import SourceFailed, SourceMessage, Subscription
from twinframe_events_nats.settings import NatsSourceSettings
from twinframe_events_nats.source import NatsSource
from twinframe_events_nats.source_plugin import twinframe_settings, twinframe_source


def build_source(url: str, **more: Any) -> NatsSource:
    settings = {"Servers": [url], "Stream": "S", "Timeout": 60, **more}
    return NatsSource(NatsSourceSettings.model_validate(settings))


def build_subscription(
    *filters: str, most: int = 100, most_bytes: int = 10_000_000
) -> Subscription:
    return Subscription(filters or ("a.*",), (), "twinframe-g-s", most, most_bytes)


async def publish(url: str, *payloads: bytes, subject: str = "a.b", **stream: Any) -> None:
    """Publish into the stream, which is made if it does not exist."""
    client = await nats.connect(url)
    streams = client.jetstream(timeout=PATIENCE)
    await streams.add_stream(name="S", subjects=["a.>", "c.>"], **stream)
    for payload in payloads:
        await streams.publish(subject, payload, headers={"site": "x"}, timeout=PATIENCE)
    await client.close()


async def receive(source: NatsSource, count: int) -> list[SourceMessage]:
    found: list[SourceMessage] = []
    while len(found) < count:
        found += await source.receive(count - len(found))
    return found


def list_payloads(messages: Sequence[SourceMessage]) -> list[bytes]:
    return [message.payload for message in messages]


def test_messages_come_in_order_with_their_time_and_without_those_of_others(server: Any) -> None:
    async def scene() -> None:
        before = datetime.now(UTC).timestamp() - 60
        await publish(server.url, *(b"%d" % n for n in range(50)))
        await publish(server.url, b"other", subject="c.x")
        await publish(server.url, b"deep", subject="c.d.e")
        source = build_source(server.url)
        await source.open(build_subscription("a.*", "c.d.>"))
        messages = await receive(source, 51)
        await source.acknowledge(messages)
        await source.close()
        assert list_payloads(messages) == [*(b"%d" % n for n in range(50)), b"deep"]
        assert (messages[-1].topic, messages[-1].headers) == ("c.d.e", {"site": "x"})
        assert messages[0].time is not None
        assert before * 1e6 < messages[0].time < (before + 3600) * 1e6

    play(scene)


def test_what_was_not_acknowledged_comes_again_at_once_and_before_newer_ones(server: Any) -> None:
    async def scene() -> None:
        await publish(server.url, b"1", b"2", b"3")
        source = build_source(server.url)
        await source.open(build_subscription())
        (first,) = await source.receive(1)
        await source.acknowledge([first])
        await receive(source, 2)
        await source.close()
        await publish(server.url, b"4")
        for _ in range(3):
            await source.open(build_subscription())
            messages = await receive(source, 3)
            assert list_payloads(messages) == [b"2", b"3", b"4"]
            await source.close()
        await source.open(build_subscription())
        await source.acknowledge(await receive(source, 3))
        await source.close()
        await source.open(build_subscription())
        await source.close()
        await publish(server.url, b"5")
        await source.open(build_subscription())
        assert list_payloads(await source.receive(10)) == [b"5"]
        await source.close()

    play(scene)


def test_no_more_is_held_than_may_be(server: Any) -> None:
    async def scene() -> None:
        await publish(server.url, *(b"x" * 600_000 for _ in range(6)))
        source = build_source(server.url)
        await source.open(build_subscription(most_bytes=2_200_000))
        found = await source.receive(100)
        assert len(found) == 2  # a third might have the megabyte that the server allows
        await source.acknowledge(found)
        await source.acknowledge(await receive(source, 4))
        await source.close()
        await publish(server.url, *(b"%d" % n for n in range(9)))
        await source.open(build_subscription(most=4))
        assert len(await source.receive(100)) == 4
        await source.close()

    play(scene)


def test_a_server_that_dies_or_has_no_such_stream_is_named(server: Any) -> None:
    async def scene() -> None:
        source = build_source(server.url)
        for act in (source.probe, lambda: source.open(build_subscription())):
            with pytest.raises(SourceFailed, match="NATS has no stream S"):
                await act()
        await source.close()
        await publish(server.url)
        await source.probe()
        await source.open(build_subscription())
        waiting = asyncio.create_task(source.receive(1))
        await asyncio.sleep(0)
        await asyncio.to_thread(server.stop)
        with pytest.raises(SourceFailed, match="NATS gives no messages"):
            await waiting
        await source.close()
        with pytest.raises(SourceFailed, match="NATS gives no messages"):
            await build_source(server.url, Timeout=1).probe()

    play(scene)


def test_a_work_queue_is_refused(server: Any) -> None:
    async def scene() -> None:
        await publish(server.url, retention="workqueue")
        source = build_source(server.url)
        with pytest.raises(SourceFailed, match="is a work queue"):
            await source.open(build_subscription())
        await source.close()

    play(scene)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({}, "Field required"),
        ({"Stream": "a.b"}, "must not contain '.'"),
        ({"Stream": "S", "Subject": "a"}, "Extra inputs"),
        ({"Stream": "S", "Servers": ["n.example"]}, "must be an address"),
    ],
)
def test_wrong_settings_are_refused(settings: dict[str, Any], message: str) -> None:
    base = {"Servers": ["nats://n.example:4222"]}
    with pytest.raises(ValidationError, match=message):
        NatsSourceSettings.model_validate({**base, **settings})


def test_the_plugin_gives_a_source_for_its_settings() -> None:
    settings = twinframe_settings().model_validate({"Servers": ["nats://n:1"], "Stream": "S"})
    assert isinstance(twinframe_source(settings), NatsSource)
