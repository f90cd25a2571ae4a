"""Sections of plugins that stand in the tree itself, such as `Explorer__Enabled`."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from pydantic import Field

from twinframe.errors import PluginError, SettingsError
from twinframe.settings import PluginSection, PluginSections, Section, load_settings
from twinframe.settings.load import Configuration
from twinframe.settings.sources import ROOT, find_near_misses


class BoardSettings(Section):
    """A plugin's section."""

    enabled: bool = Field(default=True, description="Show it.")
    sizes: tuple[int, ...] = Field(default=(), description="Some numbers.")


def find(name: str) -> PluginSection | None:
    if name.casefold() == "board":
        return PluginSection("Board", BoardSettings)
    if name.casefold() == "plain":
        return None
    raise PluginError(f"There is no site plugin {name!r} installed. pip install twinframe-{name}")


PLACES = {
    ROOT: PluginSections("", find, lambda: ["board", "plain"], lambda _s: None, ("board", "wiki"))
}


def load(environ: dict[str, str], file: Path | None = None) -> Configuration:
    return load_settings(file, environ, PLACES)


def problems_of(environ: dict[str, str], file: Path | None = None) -> list[str]:
    with pytest.raises((SettingsError, PluginError)) as caught:
        load(environ, file)
    return [detail.message for detail in caught.value.details]


def write(tmp_path: Path, document: object) -> Path:
    path = tmp_path / "settings.json"
    path.write_text(json.dumps(document), encoding="utf-8")
    return path


def test_they_are_read_from_environment_and_file(tmp_path: Path) -> None:
    file = write(tmp_path, {"Board": {"Enabled": False, "Sizes": [1]}})
    found = load({"board__SIZES__1": "5"}, file)
    section = found.section(("Board",), BoardSettings)
    assert (section.enabled, section.sizes) == (False, (1, 5))
    assert found.origins["Board", "Sizes"] == "environment board__SIZES__1"
    assert load({}).section(("Board",), BoardSettings).enabled


def test_what_is_wrong_in_them_is_told_as_elsewhere(tmp_path: Path) -> None:
    (problem,) = problems_of({"Board__Enabled": "perhaps"})
    assert problem.startswith("Board__Enabled = 'perhaps' (environment Board__Enabled): must be")
    (problem,) = problems_of({"Board__Enabeld": "true"})
    assert problem.endswith("Did you mean Board__Enabled?")
    (problem,) = problems_of({"Plain__X": "1"})
    assert problem.endswith("this plugin takes no settings.")
    (problem,) = problems_of({}, write(tmp_path, {"Board": 5}))
    assert problem.startswith("Board (")


def test_an_unknown_section_of_a_file_is_told_with_the_nearest_one(tmp_path: Path) -> None:
    (problem,) = problems_of({}, write(tmp_path, {"Baord": {"Enabled": True}}))
    assert problem.endswith("is not a key of the settings. Did you mean Board?")
    (problem,) = problems_of({}, write(tmp_path, {"Sever": {"Workers": 1}}))
    assert problem.endswith("Did you mean Server?")


def test_one_of_ours_that_is_missing_says_how_to_get_it_in_a_file_alone(tmp_path: Path) -> None:
    (problem,) = problems_of({}, write(tmp_path, {"Wiki": {"Enabled": True}}))
    assert "pip install twinframe-Wiki" in problem
    assert load({"Wiki__Enabled": "true"}).sections == {}  # it may belong to another program


def test_a_key_that_is_nearly_one_of_them_is_pointed_at() -> None:
    environ = {"Baord__Enabled": "true", "Board__Enabled": "true"}
    assert find_near_misses(environ, ["board"]) == [
        "Baord__Enabled is passed over. Did you mean Board__Enabled?"
    ]
