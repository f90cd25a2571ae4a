"""The operator's endpoints: settings by name and type, and what is said of wrong ones."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path

import orjson
import pytest

from twinframe.errors import PluginError, SettingsError
from twinframe.graph.delivery.endpoints import Endpoints, EventForm
from twinframe.graph.delivery.log_sink import LogSink
from twinframe.graph.delivery.webhook import WebhookSink
from twinframe.hooks.installation import load_installation
from twinframe.service.endpoints import build_endpoints
from twinframe.settings.render import list_effective

OUT = "Events__Endpoints__out__"


def build(environ: dict[str, str], config: Path | None = None) -> Endpoints:
    installation = load_installation(config, {"Storage__Provider": "memory", **environ})
    return build_endpoints(installation)


def test_endpoints_are_set_key_by_key_in_any_case() -> None:
    endpoints = build(
        {
            OUT + "TYPE": "Webhook",
            OUT + "url": "https://a.example/in",
            OUT + "Headers": '{"X-Key": "v"}',
            OUT + "Timeout": "3.5",
            OUT + "hosted": "True",
            OUT + "Form": "data-history",
            "Events__Endpoints__lines__Type": "log",
        }
    )
    out, lines = endpoints.find("out"), endpoints.find("lines")
    assert out is not None
    assert lines is not None
    assert isinstance(out.sink, WebhookSink)
    assert (out.kind, out.form, out.hosted) == ("webhook", EventForm.HISTORY, True)
    assert isinstance(lines.sink, LogSink)
    assert endpoints.list_names() == ["lines", "out"]
    assert endpoints.list_names(hosted=True) == ["out"]
    asyncio.run(endpoints.stop())


def test_endpoints_of_a_file_and_of_the_environment_are_one(tmp_path: Path) -> None:
    config = tmp_path / "settings.json"
    config.write_bytes(
        orjson.dumps(
            {
                "Events": {
                    "Endpoints": {
                        "out": {
                            "Type": "webhook",
                            "Url": "https://a.example/",
                            "Handshake": False,
                            "MaxConnections": 3,
                            "Headers": {"X-A": "1"},
                        }
                    }
                }
            }
        )
    )
    endpoints = build({OUT + "Secret": "s", "Events__Endpoints__b__Type": "log"}, config)
    assert endpoints.list_names() == ["b", "out"]


@pytest.mark.parametrize(
    ("environ", "message"),
    [
        ({OUT + "Url": "https://a.example/"}, "Events__Endpoints__out__Type is not set"),
        ({OUT + "Type": "webhook"}, "Events__Endpoints__out__Url: must be text"),
        (
            {OUT + "Type": "webhook", OUT + "Url": "https://a.example/", OUT + "Timeuot": "3"},
            "Did you mean Events__Endpoints__out__Timeout",
        ),
        (
            {OUT + "Type": "webhook", OUT + "Url": "https://a.example/", OUT + "Timeout": "x"},
            "Events__Endpoints__out__Timeout: must be a number, above 0",
        ),
        ({OUT + "Type": "log", OUT + "Form": "xml"}, "must be one of cloudevents, data-history"),
        ({OUT + "Type": "log", OUT + "Hosted": "yes"}, "must be true or false"),
        ({OUT + "Type": "log", OUT + "Url": "x"}, "not a key of an endpoint of type log"),
    ],
)
def test_a_wrong_endpoint_stops_the_start_with_its_key(
    environ: dict[str, str], message: str
) -> None:
    with pytest.raises(SettingsError, match=message):
        build(environ)


@pytest.mark.parametrize("key", ["Url", "Timeout", "Hosted", "Form"])
def test_a_list_in_a_file_is_no_text(tmp_path: Path, key: str) -> None:
    config = tmp_path / "settings.json"
    keys = {"Type": "webhook", "Url": "https://a.example/", key: ["x"]}
    config.write_text(json.dumps({"Events": {"Endpoints": {"out": keys}}}))
    with pytest.raises(SettingsError, match=f"out__{key}: must be .*, not a list or an object"):
        build({}, config)


def test_an_unknown_type_says_what_there_is() -> None:
    with pytest.raises(PluginError, match=r"Events__Endpoints__out__Type: .*'webhook'"):
        build({OUT + "Type": "webhok"})


def test_a_name_that_no_route_could_give_is_refused() -> None:
    with pytest.raises(SettingsError, match="Events__Endpoints"):
        build({"Events__Endpoints__a b__Type": "log"})


def test_without_events_nothing_is_built() -> None:
    assert build({OUT + "Type": "nonsense", "Events__Enabled": "false"}).list_names() == []


def test_what_is_set_for_endpoints_is_never_shown() -> None:
    installation = load_installation(
        None, {"Storage__Provider": "memory", OUT + "Type": "webhook", OUT + "Secret": "s3cret"}
    )
    shown = [repr(item.value) for item in list_effective(installation.configuration)]
    assert not any("s3cret" in text for text in shown)
    assert any("out" in text for text in shown)
