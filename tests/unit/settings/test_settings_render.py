"""The effective tree and the reference page of the settings."""

from __future__ import annotations

from pathlib import Path

from pydantic import Field, SecretStr

from tests.house.pages.hooks import render_settings_page
from tests.house.pages.settings import PluginReference, render_reference
from twinframe.settings import Configuration, Section, Settings, load_settings
from twinframe.settings.render import list_effective
from twinframe.settings.shape import render_key
from twinframe.settings.sources import iterate_leaves

ROOT = Path(__file__).parents[3]


class GateSettings(Section):
    """A section with a secret. More about it.

    And more.
    """

    token: SecretStr = Field(default=SecretStr(""), description="Opens | closes.")
    place: str = Field(description="Where it stands.")


def test_every_setting_is_listed_once_with_its_value_and_source() -> None:
    found = list_effective(load_settings(None, {"SERVER__BIND": "127.0.0.1:1"}))
    keys = [render_key(item.path) for item in found]
    assert sorted(keys) == sorted({render_key(path) for path, _key in iterate_leaves(Settings, ())})
    (bind,) = [item for item in found if item.path == ("Server", "Bind")]
    assert (bind.value, bind.origin) == ("127.0.0.1:1", "environment SERVER__BIND")
    assert {item.origin for item in found if item is not bind} == {"default"}


def test_secrets_are_masked_and_an_unset_one_is_empty() -> None:
    unset = list_effective(load_settings(None, {}))
    held = list_effective(load_settings(None, {"Secrets__TokenKey": "hush-hush"}))
    assert [i.value for i in unset if i.path == ("Secrets", "TokenKey")] == [""]
    assert [i.value for i in held if i.path == ("Secrets", "TokenKey")] == ["***"]
    assert "hush" not in repr(held)


def test_secrets_of_plugins_are_masked() -> None:
    section = GateSettings(token=SecretStr("hush"), place="north")
    found = list_effective(Configuration(Settings(), {("Storage", "Gate"): section}))
    assert [(render_key(i.path), i.value) for i in found[-2:]] == [
        ("Storage__Gate__Token", "***"),
        ("Storage__Gate__Place", "north"),
    ]


def test_the_page_names_type_default_and_meaning_of_each_key() -> None:
    page = render_reference([PluginReference(("Storage", "Gate"), GateSettings, "acme-gate")])
    assert "| `Server__Workers` | a whole number, above 0, at most 256 | `2` |" in page
    assert "| `Storage__Gate__Token` | text (secret) | empty | Opens \\| closes. |" in page
    assert "| `Storage__Gate__Place` | text | required | Where it stands. |" in page
    assert (
        "## Storage.Gate\n\nA section with a secret. More about it.\n\nComes with `acme-gate`."
        in page
    )


def test_an_object_that_is_empty_by_default_is_not_required() -> None:
    class KeySettings(Section):
        """Who has a key."""

        keys: dict[str, str] = Field(default_factory=dict, description="By name.")

    page = render_reference([PluginReference(("Keys",), KeySettings, "acme-keys")])
    assert "| `Keys__Keys` | an object | empty | By name. |" in page


def test_every_key_of_the_core_has_a_meaning() -> None:
    silent = [path for path, key in iterate_leaves(Settings, ()) if not key.info.description]
    assert silent == []


def test_the_committed_page_is_current() -> None:
    page = ROOT / "docs/reference/settings.md"
    assert page.read_text(encoding="utf-8") == render_settings_page(), "run: make docs"
