"""Exact versions: every package that a fresh environment gets is in `constraints.txt`."""

from __future__ import annotations

import tomllib
from collections.abc import Iterator
from importlib.metadata import distribution, distributions
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

FILE = Path(__file__).resolve().parents[2] / "constraints.txt"
BUILDERS = ("pip", "hatchling", "editables", "setuptools")
"""What `make setup` installs before our own packages."""


def read_pins() -> list[Requirement]:
    lines = [line.partition("#")[0].strip() for line in FILE.read_text().splitlines()]
    return [Requirement(line) for line in lines if line]


def list_own() -> list[str]:
    found = {canonicalize_name(one.metadata["Name"]) for one in distributions()}
    return sorted(name for name in found if name.split("-")[0] == "twinframe")


def list_required(name: str, extras: frozenset[str]) -> Iterator[Requirement]:
    """What a package needs here, with these of its extras."""
    for text in distribution(name).requires or ():
        needed = Requirement(text)
        contexts = [{"extra": extra} for extra in extras or {""}]
        if needed.marker is None or any(needed.marker.evaluate(one) for one in contexts):
            yield needed


def list_installed() -> dict[str, str]:
    """All that a fresh environment has: what ours and the builders need, and that in turn."""
    found: dict[str, str] = {}
    seen: set[tuple[str, frozenset[str]]] = set()
    waiting = [(name, frozenset({"", "dev"})) for name in list_own()]
    waiting += [(name, frozenset({""})) for name in BUILDERS]
    while waiting:
        name, extras = waiting.pop()
        if (name, extras) in seen:
            continue
        seen.add((name, extras))
        if name.split("-")[0] != "twinframe":
            found[name] = distribution(name).version
        for needed in list_required(name, extras):
            waiting.append((canonicalize_name(needed.name), frozenset({"", *needed.extras})))
    return found


def is_current() -> bool:
    """Whether this environment was set up with the extra `dev` of today."""
    project = tomllib.loads((FILE.parent / "pyproject.toml").read_text(encoding="utf-8"))
    wanted = project["project"]["optional-dependencies"]["dev"]
    known = {Requirement(text).name for text in distribution("twinframe").requires or ()}
    return {Requirement(text).name for text in wanted} - {"twinframe"} <= known


def test_every_package_of_a_fresh_environment_is_pinned_to_the_version_it_has() -> None:
    if not is_current():
        pytest.skip("this environment is older than pyproject.toml: make setup")
    pins = {
        canonicalize_name(pin.name): str(pin.specifier)
        for pin in read_pins()
        if pin.marker is None or pin.marker.evaluate()
    }
    installed = {name: f"=={version}" for name, version in list_installed().items()}
    assert len(installed) > 100
    # Make it anew in a fresh environment: CONTRIBUTING.md, «Dependencies».
    assert installed == pins


def test_pins_are_exact_sorted_and_name_no_place() -> None:
    pins = read_pins()
    names = [canonicalize_name(pin.name) for pin in pins]
    assert len(names) == len(set(names))
    for pin in pins:
        assert str(pin.specifier).startswith("==")
        assert "*" not in str(pin.specifier)
        assert pin.url is None
    text = FILE.read_text()
    assert "://" not in text
    assert "--" not in text  # no index, no host
