"""The sections `Control` and `Hosting`: what they refuse, and what they say then."""

from __future__ import annotations

import pytest

from twinframe.errors import SettingsError
from twinframe.settings import Settings, load_settings


def load(**variables: str) -> Settings:
    return load_settings(environ=variables).settings


def test_the_defaults_are_a_control_plane_of_one_machine() -> None:
    settings = load()
    assert (settings.control.store, settings.control.provision) == ("sqlite", True)
    assert settings.control.bind.startswith("127.0.0.1:")
    assert not settings.hosting.enabled


def test_every_address_of_a_default_installation_is_another() -> None:
    settings = load()
    binds = [
        settings.server.bind,
        settings.token_server.bind,
        settings.mcp.bind,
        settings.control.bind,
    ]
    assert len(set(binds)) == len(binds)


def test_a_domain_is_kept_in_small_letters() -> None:
    assert load(Hosting__Domain="Graphs.Example.com").hosting.domain == "graphs.example.com"


@pytest.mark.parametrize(
    "domain", ["graphs.example.com:443", ".example.com", "a..b", "-a", "a/b", "*.a", "a" * 64, "ä"]
)
def test_a_domain_is_a_host_name(domain: str) -> None:
    with pytest.raises(SettingsError, match="Hosting__Domain"):
        load(Hosting__Domain=domain)


@pytest.mark.parametrize("key", ["Control__PublicUrl", "Hosting__PublicUrl"])
def test_a_public_url_is_an_origin_without_a_path(key: str) -> None:
    section = key.partition("__")[0].lower()
    found = getattr(load(**{key: "https://plane.example/"}), section).public_url
    assert found == "https://plane.example"
    for refused in ("plane.example", "https://plane.example/api", "ftp://plane.example"):
        with pytest.raises(SettingsError, match=f"{key}.*must be an origin"):
            load(**{key: refused})


@pytest.mark.parametrize(
    ("variables", "reason"),
    [
        ({"Control__PageSize": "2000"}, "PageSize must not be above MaxPageSize"),
        ({"Control__RetryDelay": "301"}, "RetryDelay must not be above MaxRetryDelay"),
        ({"Control__LeaseSeconds": "2.5"}, "PollInterval must be at most a third"),
        ({"Control__Bind": "nowhere"}, "must be host:port"),
        ({"Control__MaxAttempts": "0"}, "Control__MaxAttempts"),
    ],
    ids=lambda value: next(iter(value)) if isinstance(value, dict) else "",
)
def test_figures_that_contradict_each_other_stop_the_start(
    variables: dict[str, str], reason: str
) -> None:
    with pytest.raises(SettingsError, match=reason):
        load(**variables)
