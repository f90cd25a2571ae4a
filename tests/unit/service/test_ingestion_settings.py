"""The operator's sources of messages: settings by name and type, and what a check finds."""

from __future__ import annotations

from pathlib import Path

import orjson
import pytest

from twinframe.errors import PluginError, SettingsError
from twinframe.graph.ingestion.standing import Refusal, Standing
from twinframe.hooks.installation import Installation, load_installation
from twinframe.hooks.sources.base import SourceMessage
from twinframe.runtime.diagnosis.findings import Severity
from twinframe.service.ingestion import build_sources, check_sources

pytest.importorskip("twinframe_events_mqtt", reason="needs pip install twinframe-events-mqtt")

AT = "Ingestion__Sources__in__"
MAPPINGS = [
    {"topic": "a/{twin}", "properties": {"p": "payload"}},
    {"topic": "b/{twin}", "properties": {"p": "payload"}},
]
SOURCE = {AT + "Type": "MQTT", AT + "host": "127.0.0.1", AT + "Mappings": orjson.dumps(MAPPINGS)}


def load(environ: dict[str, str | bytes], config: Path | None = None) -> Installation:
    texts = {key: v.decode() if isinstance(v, bytes) else v for key, v in environ.items()}
    return load_installation(config, {"Storage__Provider": "memory", **texts})


def test_a_source_of_a_file_and_of_the_environment_is_one(tmp_path: Path) -> None:
    config = tmp_path / "settings.json"
    keys = {"Type": "mqtt", "Port": 1883, "Tls": False, "Mappings": MAPPINGS}
    config.write_bytes(orjson.dumps({"Ingestion": {"Sources": {"in": keys}}}))
    (source,) = build_sources(load({AT + "Host": "h"}, config))
    assert source.name == "in"
    assert [mapping.topic.text for mapping in source.mappings] == ["a/{twin}", "b/{twin}"]


@pytest.mark.parametrize(
    ("key", "value", "message"),
    [
        ("Host", ["x"], "in__Host: must be text, not a list or an object"),
        ("Password", {"a": 1}, r"in__Password: must be text \(secret\).*, not a list"),
        ("Port", [1883], "in__Port: must be a whole number"),
        ("Tls", {}, "in__Tls: must be true or false, not"),
        ("Type", ["mqtt"], "in__Type: must be text, not a list"),
    ],
)
def test_a_list_in_a_file_is_no_text(tmp_path: Path, key: str, value: object, message: str) -> None:
    config = tmp_path / "settings.json"
    keys = {"Type": "mqtt", "Host": "h", "Mappings": MAPPINGS, key: value}
    config.write_bytes(orjson.dumps({"Ingestion": {"Sources": {"in": keys}}}))
    with pytest.raises(SettingsError, match=message):
        build_sources(load({}, config))


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        (
            {"Type": None},
            "Ingestion__Sources__in__Type is not set: it names the type of the source",
        ),
        ({"Mappings": None}, "Ingestion__Sources__in__Mappings is not set"),
        ({"Mappings": "["}, "Ingestion__Sources__in__Mappings: The text is not valid JSON: "),
        ({"Mappings": ""}, "Mappings: A non-empty JSON array of mappings is required."),
        ({"Mappings": "{}"}, "Ingestion__Sources__in__Mappings: must be a JSON array"),
        ({"Mappings": '[{"topic": "{twin}", "points": {"a": "key", "a": "key"}}]'}, "'a'"),
        ({"Mappings": '[{"topic": 1}]'}, "Ingestion__Sources__in__Mappings: mapping 0: A mapping"),
        ({"Mapings": "x"}, "Did you mean Ingestion__Sources__in__Mappings?"),
        ({"Qos": "2"}, "Ingestion__Sources__in__Qos: must be 0 or 1"),
        (
            {"Mappings": '[{"topic": "{twin}", "points": {"p": "payload"}}]'},
            "writes points, but no telemetry is kept: set History__Telemetry",
        ),
    ],
)
def test_a_wrong_source_is_refused_and_the_key_is_named(
    changed: dict[str, str | None], message: str
) -> None:
    changes = {AT + key: value for key, value in changed.items()}
    wanted = {key: value for key, value in {**SOURCE, **changes}.items() if value is not None}
    with pytest.raises(SettingsError) as caught:
        build_sources(load(wanted))
    assert message in caught.value.message


def test_a_type_that_is_not_installed_is_named() -> None:
    with pytest.raises(PluginError, match="in__Type: There is no source plugin 'mqt' installed"):
        build_sources(load({**SOURCE, AT + "Type": "mqt"}))


def test_a_check_says_what_came_of_the_messages(tmp_path: Path) -> None:
    data = {"Storage__Provider": "sqlite", "Storage__Sqlite__Directory": str(tmp_path)}
    installation = load({**SOURCE, **data, AT + "Port": "1", AT + "Tls": "false"})
    standing = Standing(messages=3, properties=1)
    standing.matched["a/{twin}"] = 3
    message = SourceMessage("a/x", b"{")
    standing.add_letters([(message, Refusal("PayloadInvalid", "not JSON"))] * 2, "now", 1)
    store = installation.build_store()
    store.open()
    store.write([lambda transaction: standing.write(transaction, "in")])
    store.close()
    found = {one.message: one.severity for one in check_sources(installation, network=True)}
    counts = "3 messages: 0 points and 1 properties, 0 messages older than what is stored."
    assert found.pop(f"The source in has taken in {counts}") is Severity.FINE
    unmatched, refused, away = found
    assert set(found.values()) == {Severity.WARNING}
    assert unmatched == "The mapping of b/{twin} of the source in matched none of 3 messages."
    assert "refused 2 of 3 messages (PayloadInvalid 2), the last at now" in refused
    assert "The source in cannot be used: The MQTT broker 127.0.0.1" in away
    assert len(list(check_sources(installation, network=False))) == 3
