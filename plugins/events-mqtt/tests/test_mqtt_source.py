"""Messages of a real MQTT broker: what comes, what comes again, what is held back."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from paho.mqtt import client as paho
from paho.mqtt.enums import CallbackAPIVersion, MQTTProtocolVersion
from paho.mqtt.packettypes import PacketTypes
from paho.mqtt.properties import Properties
from pydantic import ValidationError

from tests.waiting import PATIENCE, play
from twinframe.hooks.sources.base import SourceFailed, SourceMessage, Subscription
from twinframe_events_mqtt.settings import MqttSourceSettings
from twinframe_events_mqtt.source import MqttSource
from twinframe_events_mqtt.source_plugin import twinframe_settings, twinframe_source


def build_source(port: int, **more: Any) -> MqttSource:
    settings = {"Host": "127.0.0.1", "Port": port, "Tls": False, "Timeout": 60, **more}
    return MqttSource(MqttSourceSettings.model_validate(settings))


def build_subscription(
    *filters: str, former: Sequence[str] = (), most: int = 100, most_bytes: int = 100_000
) -> Subscription:
    return Subscription(filters or ("a/+",), tuple(former), "twinframe-g-s", most, most_bytes)


def publish(
    port: int, *payloads: bytes, topic: str = "a/b", qos: int = 1, retain: bool = False
) -> None:
    """Publish, and return when the broker has all."""
    client = paho.Client(CallbackAPIVersion.VERSION2, protocol=MQTTProtocolVersion.MQTTv5)
    client.connect_timeout = PATIENCE
    client.connect("127.0.0.1", port)
    client.loop_start()
    properties = Properties(PacketTypes.PUBLISH)  # type: ignore[no-untyped-call]  # the library's
    properties.UserProperty = [("site", "x")]
    sent = [client.publish(topic, payload, qos, retain, properties) for payload in payloads]
    for one in sent:
        one.wait_for_publish(PATIENCE)
    client.disconnect()
    client.loop_stop()


async def receive(source: MqttSource, count: int) -> list[SourceMessage]:
    found: list[SourceMessage] = []
    while len(found) < count:
        found += await source.receive(count - len(found))
    return found


def list_payloads(messages: Sequence[SourceMessage]) -> list[bytes]:
    return [message.payload for message in messages]


def test_messages_come_in_order_with_their_topic_and_properties(broker: Any) -> None:
    async def scene() -> None:
        source = build_source(broker.port)
        await source.open(build_subscription("a/+", "c/#"))
        await asyncio.to_thread(publish, broker.port, *(b"%d" % n for n in range(50)))
        await asyncio.to_thread(publish, broker.port, b"two", topic="c/d/e", qos=2)
        await asyncio.to_thread(publish, broker.port, b"zero", topic="c", qos=0)
        messages = await receive(source, 52)
        await source.acknowledge(messages)
        await source.close()
        assert list_payloads(messages) == [*(b"%d" % n for n in range(50)), b"two", b"zero"]
        assert [message.topic for message in messages[-3:]] == ["a/b", "c/d/e", "c"]
        assert messages[0].headers == {"site": "x"}

    play(scene)


def test_what_was_not_acknowledged_comes_again_and_nothing_is_missed_meanwhile(
    broker: Any,
) -> None:
    async def scene() -> None:
        source = build_source(broker.port)
        await source.open(build_subscription())
        await asyncio.to_thread(publish, broker.port, b"1", b"2", b"3")
        messages = await receive(source, 3)
        await source.acknowledge(messages[:1])
        await source.close()
        await asyncio.to_thread(publish, broker.port, b"4")
        await source.open(build_subscription())
        messages = await receive(source, 3)
        assert list_payloads(messages) == [b"2", b"3", b"4"]
        await source.acknowledge(messages)
        await source.close()
        # A broker may take a new connection before it reads what the former one sent last.
        await asyncio.to_thread(publish, broker.port, b"5")
        await source.open(build_subscription())
        assert list_payloads(await source.receive(10)) == [b"5"]
        await source.close()

    play(scene)


@pytest.mark.parametrize(
    ("limits", "held"), [({"most": 3}, 3), ({"most_bytes": 2500}, 2)], ids=["messages", "bytes"]
)
@pytest.mark.parametrize("qos", [0, 1])
def test_no_more_is_held_than_may_be(broker: Any, limits: Any, held: int, qos: int) -> None:
    async def scene() -> None:
        source = build_source(broker.port, Qos=qos)
        await source.open(build_subscription(**limits))
        bodies = [b"%d" % n + b"x" * 999 for n in range(8)]
        await asyncio.to_thread(publish, broker.port, *bodies, qos=qos)
        found: list[SourceMessage] = []
        while len(found) < 8:
            taken = await receive(source, min(held, 8 - len(found)))
            # The network thread waits with the next one, if there is one.
            assert source._connection is not None
            assert len(source._connection._inbox) == 0
            found += taken
            await source.acknowledge(taken)
        assert list_payloads(found) == bodies
        await source.close()

    play(scene)


def test_a_retained_message_comes_once(broker: Any) -> None:
    async def scene() -> None:
        await asyncio.to_thread(publish, broker.port, b"kept", retain=True)
        source = build_source(broker.port)
        await source.open(build_subscription())
        messages = await source.receive(10)
        assert list_payloads(messages) == [b"kept"]
        await source.acknowledge(messages)
        await source.close()
        await asyncio.to_thread(publish, broker.port, b"new")
        await source.open(build_subscription())
        assert list_payloads(await source.receive(10)) == [b"new"]
        await source.close()

    play(scene)


def test_a_topic_that_is_no_longer_wanted_is_left(broker: Any) -> None:
    async def scene() -> None:
        source = build_source(broker.port)
        await source.open(build_subscription("a/+", "old/+"))
        await source.close()
        await source.open(build_subscription("a/+", former=("old/+", "never/+")))
        await asyncio.to_thread(publish, broker.port, b"old", topic="old/b")
        await asyncio.to_thread(publish, broker.port, b"new")
        assert list_payloads(await source.receive(10)) == [b"new"]
        await source.close()

    play(scene)


def test_a_broker_that_dies_ends_the_waiting_and_one_that_is_away_is_named(broker: Any) -> None:
    async def scene() -> None:
        source = build_source(broker.port)
        await source.open(build_subscription())
        waiting = asyncio.create_task(source.receive(1))
        await asyncio.sleep(0)
        await asyncio.to_thread(broker.kill)
        with pytest.raises(SourceFailed, match=r"127\.0\.0\.1 gives no messages"):
            await waiting
        await source.acknowledge([])
        await source.close()
        with pytest.raises(SourceFailed, match="the connection was refused"):
            await source.open(build_subscription())
        await source.close()

    play(scene)


def test_what_the_broker_does_not_allow_is_named(make_broker: Any, tmp_path: Path) -> None:
    broker = make_broker("allow_anonymous false")
    broker.start()

    async def scene() -> None:
        source = build_source(broker.port, Username="u", Password="p")
        for act in (source.probe, lambda: source.open(build_subscription())):
            with pytest.raises(SourceFailed, match="Not authorized"):
                await act()
        await source.close()

    play(scene)


def test_a_probe_leaves_the_session_of_the_service_alone(broker: Any) -> None:
    async def scene() -> None:
        source = build_source(broker.port)
        await source.open(build_subscription())
        await build_source(broker.port).probe()
        await asyncio.to_thread(publish, broker.port, b"1")
        assert list_payloads(await source.receive(1)) == [b"1"]
        await source.close()

    play(scene)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"Qos": "2"}, "must be 0 or 1: with 2 the broker forgets"),
        ({"Qos": 3}, "Input should be 0 or 1"),
        ({"Key": "k.pem"}, "set together"),
        ({"Topic": "a"}, "Extra inputs"),
    ],
)
def test_wrong_settings_are_refused(settings: dict[str, Any], message: str) -> None:
    with pytest.raises(ValidationError, match=message):
        MqttSourceSettings.model_validate({"Host": "h", **settings})


def test_the_plugin_gives_a_source_for_its_settings() -> None:
    settings = twinframe_settings().model_validate({"Host": "h", "Qos": "0"})
    assert isinstance(settings, MqttSourceSettings)
    assert isinstance(twinframe_source(settings), MqttSource)


def test_authorities_that_cannot_be_read_are_named() -> None:
    async def scene() -> None:
        source = build_source(1, Tls=True, CertificateAuthority="/none/ca.pem")
        with pytest.raises(SourceFailed, match="source's CertificateAuthority /none/ca"):
            await source.open(build_subscription())

    play(scene)
