"""A fifth resource type from a plugin of ten lines: installed, offered, brought up, taken down."""

from __future__ import annotations

import importlib
from pathlib import Path

import pytest

from tests.unit.control.resources.resource_world import World
from twinframe.control.resources.documents import build_view
from twinframe.control.resources.requests import RequestReader
from twinframe.control.resources.resources import Resources
from twinframe.errors import ValidationFailed
from twinframe.hooks.installation import load_installation
from twinframe.hooks.resource_types.base import ResourceTypeRegistry
from twinframe.model.json import JsonLimits

HERE = Path(__file__).resolve().parent
RECIPE = HERE.parents[1] / "docs/how-to/add-a-resource-type.md"


@pytest.fixture
def types(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> ResourceTypeRegistry:
    information = tmp_path / "site" / "acme_lakes-1.0.dist-info"
    information.mkdir(parents=True)
    (information / "METADATA").write_text("Metadata-Version: 2.1\nName: acme-lakes\nVersion: 1.0\n")
    (information / "entry_points.txt").write_text(
        "[twinframe.resource_type]\nlake = twinframe_lakes.plugin\n"
    )
    monkeypatch.syspath_prepend(str(tmp_path / "site"))
    monkeypatch.syspath_prepend(str(HERE))
    importlib.invalidate_caches()
    return load_installation(None, {}).build_resource_types()


def test_the_fifth_type_stands_beside_the_four(types: ResourceTypeRegistry) -> None:
    assert {kind.name for kind in types} == {
        "Platform.Graph",
        "Platform.Flow",
        "Platform.Assembler",
        "Platform.Compass",
        "Acme.Lake",
    }


def test_a_resource_of_it_runs_through_its_whole_life(
    types: ResourceTypeRegistry, tmp_path: Path
) -> None:
    world = World(tmp_path / "graphs")
    world.types = types
    world.resources = Resources(types, world.clock)
    world.reader = RequestReader(types, JsonLimits(), 1024)
    with pytest.raises(ValidationFailed) as caught:
        world.create("deep", type="Acme.Lakes")
    assert "Did you mean Acme.Lake?" in caught.value.details[0].message
    world.create("deep", type="Acme.Lake", settings_json={"depth": 12})
    world.settle()
    view = build_view(world.read("deep"))
    assert (view["status"], view["access_url"]) == ("running", "https://deep.lakes.example")
    world.update("deep", settings_json={"depth": 13})
    world.settle()
    assert world.read("deep").settings_json == '{"depth":13}'
    world.delete("deep")
    world.settle()
    assert world.read("deep").status == "terminated"


def test_the_recipe_begins_with_a_plugin_of_ten_lines() -> None:
    page = RECIPE.read_text(encoding="utf-8")
    code = page.partition('```python title="acme_lakes/plugin.py"\n')[2].partition("```")[0]
    lines = [line for line in code.splitlines() if line.strip()]
    assert len(lines) <= 10
    module: dict[str, object] = {}
    exec(code, module)  # noqa: S102  (the page's own code)
    (kind,) = module["twinframe_resource_types"]()  # type: ignore[operator]  # the hook
    assert kind.name == "Acme.Lake"
