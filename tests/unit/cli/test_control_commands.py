"""`twinframe control` by hand: its first owner, what stops its start. Serving: see tests/e2e."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from twinframe.cli.control import parse_owner
from twinframe.cli.main import main
from twinframe.control.records.actors import Actor, Principal
from twinframe.errors import InvalidArgument, SettingsError
from twinframe.hooks.installation import Installation, load_installation
from twinframe.service.control import build_control_access, check_control, open_plane
from twinframe.service.preflight import find_control_refusals, find_problems
from twinframe.settings import Settings

KNOWN = {
    "Authentication__Enabled": "true",
    "Authentication__Authority": "https://issuer.example",
    "Authentication__Audience": "twinframe",
}


@pytest.fixture
def environ(tmp_path: Path) -> dict[str, str]:
    folders = {
        "Storage__Sqlite__Directory": str(tmp_path / "data"),
        "Hosting__Directory": str(tmp_path / "hosting"),
    }
    return {**KNOWN, **folders}


@pytest.fixture
def init(environ: dict[str, str]) -> Callable[..., Result]:
    def run(*arguments: str) -> Result:
        return CliRunner().invoke(main, ["control", "init", *arguments], env=environ)

    return run


def list_organizations(environ: dict[str, str], actor: Actor) -> list[str]:
    async def read() -> list[str]:
        async with open_plane(load_installation(environ=environ)) as plane:
            await plane.users.see(actor)
            return [each.id for each in (await plane.organizations.list(actor)).items]

    return asyncio.run(read())


def test_the_first_owner_owns_what_is_there(
    init: Callable[..., Result], environ: dict[str, str]
) -> None:
    for _ in range(2):  # again, it changes nothing
        done = init("--owner", "auth0|ada", "--organization", "acme", "--name", "Acme")
        assert done.exit_code == 0, done.output
        assert "auth0|ada owns the platform." in done.stdout
    assert list_organizations(environ, Actor("auth0|ada")) == ["acme"]
    assert list_organizations(environ, Actor("auth0|bob")) == []


def test_an_owner_known_by_email_is_who_first_shows_it(
    init: Callable[..., Result], environ: dict[str, str]
) -> None:
    assert init("--owner", "Ada@Example.com", "--organization", "acme").exit_code == 0
    assert list_organizations(environ, Actor("ada", "ada@example.com")) == ["acme"]
    assert list_organizations(environ, Actor("ada")) == ["acme"]
    assert list_organizations(environ, Actor("eve", "ada@example.com")) == []
    assert list_organizations(environ, Actor("operator")) == []


def test_what_is_wrong_with_a_first_owner_is_one_line(init: Callable[..., Result]) -> None:
    for arguments, hint in (
        (("--owner", "ada", "--organization", "ACME"), "'ACME' cannot be the id"),
        (("--owner", "email:nobody"), "no email address"),
        (("--owner", ""), "subject"),
    ):
        done = init(*arguments)
        assert (done.exit_code, hint in done.stderr) == (1, True), done.output
    assert init("--owner", "ada", "--name", "Acme").exit_code == 2
    assert init().exit_code == 2


def test_a_subject_that_looks_like_an_email_is_told_apart() -> None:
    assert parse_owner("ada@example.com") == Principal("email", "ada@example.com")
    for text, subject in (
        ("4711@clients", "4711@clients"),
        ("auth0|ada", "auth0|ada"),
        ("subject:ada@example.com", "ada@example.com"),
        ("urn:user:7", "urn:user:7"),
    ):
        assert parse_owner(text) == Principal("subject", subject)
    with pytest.raises(InvalidArgument):
        parse_owner("email:ada")


def test_a_control_plane_that_cannot_know_who_calls_does_not_start(tmp_path: Path) -> None:
    for changes in ({}, {**KNOWN, "Authentication__Mode": "ApiKey"}):
        environment = {"Storage__Sqlite__Directory": str(tmp_path), **changes}
        result = CliRunner().invoke(main, ["control"], env=environment)
        assert (result.exit_code, "Authentication__Mode=Jwt" in result.stderr) == (1, True)


def test_a_base_path_over_the_control_plane_is_refused() -> None:
    settings = Settings.model_validate(
        {
            "authentication": {"enabled": True, "authority": "https://i.example", "audience": "a"},
            "control": {"enabled": True},
            "server": {"base_path": "/API/v1/x"},
        }
    )
    with pytest.raises(SettingsError, match="Server__BasePath"):
        check_control(settings)


def test_the_problems_of_a_control_plane_stop_the_service_it_is_in(
    environ: dict[str, str],
) -> None:
    def find(**changes: str) -> list[str]:
        installation = load_installation(environ={**environ, **changes})
        return list(find_problems(installation))

    prices = {"Billing__PriceList": "/nowhere/prices.json"}
    assert find(**prices) == []
    assert any("Billing__PriceList" in line for line in find(**prices, Control__Enabled="true"))
    assert find(Control__Enabled="true") == []
    mode = {"Control__Enabled": "true", "Authentication__Mode": "ApiKey"}
    assert any("control plane needs" in line for line in find(**mode))


def test_a_provisioner_alone_needs_no_tokens(environ: dict[str, str]) -> None:
    environment = {key: text for key, text in environ.items() if key not in KNOWN}
    installation: Installation = load_installation(environ=environment)
    assert list(find_control_refusals(installation, serves=False)) == []
    assert len(list(find_control_refusals(installation))) == 1
    both = ["control", "--provision-only", "--no-provision"]
    assert CliRunner().invoke(main, both, env=environ).exit_code == 2


def test_tokens_for_the_graph_api_alone_do_not_open_the_control_plane() -> None:
    # NOTE: without an audience of its own, the one of the service counts.
    known = {"enabled": True, "authority": "https://i.example", "audience": "graphs"}
    for own, expected in (("", {"graphs"}), ("control", {"control"})):
        settings = Settings.model_validate({"authentication": known, "control": {"audience": own}})
        gate = build_control_access(settings).gate
        verifier = gate._authenticator._verifier  # type: ignore[attr-defined]  # a bearer's
        assert verifier._policy.audiences == expected
