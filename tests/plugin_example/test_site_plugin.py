"""A site from a plugin of some lines: installed, served, refused where it is in the way."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from pathlib import Path

import pytest

import twinframe
from tests.unit.http.conftest import Client
from twinframe.errors import PluginError, SettingsError
from twinframe.hooks.installation import build_installation, load_installation
from twinframe.service.application import create_app
from twinframe.service.preflight import find_problems
from twinframe.service.sites import build_sites
from twinframe.settings import LoggingSettings, ServerSettings, Settings, StorageSettings

HERE = Path(__file__).resolve().parent
PAGE = HERE.parents[1] / "docs/how-to/write-a-site-plugin.md"
MEMORY = Settings(
    logging=LoggingSettings(access=False),
    storage=StorageSettings(provider="memory"),
    server=ServerSettings(workers=1),
)
SITE = """
from twinframe import hookimpl
from twinframe.hooks.sites import Site, SiteRequest

class Made(Site):
    def __init__(self, path):
        self._path = path
    @property
    def path(self):
        return self._path
    async def read(self, request):
        return None

@hookimpl
def twinframe_routes():
    return {answer}
"""
Install = Callable[..., None]


@pytest.fixture
def install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Install:
    """Installs a distribution with one site plugin, whose module is written from `source`."""

    def build(name: str, module: str, source: str = "") -> None:
        folder = tmp_path / name
        information = folder / f"{name}-1.0.dist-info"
        information.mkdir(parents=True)
        metadata = f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n"
        (information / "METADATA").write_text(metadata, encoding="utf-8")
        entry = f"[twinframe.plugin]\n{name} = {module}\n"
        (information / "entry_points.txt").write_text(entry, encoding="utf-8")
        if source:
            (folder / f"{module}.py").write_text(source, encoding="utf-8")
        monkeypatch.syspath_prepend(str(folder))
        monkeypatch.syspath_prepend(str(HERE))
        importlib.invalidate_caches()

    return build


def list_problems(settings: Settings = MEMORY) -> list[str]:
    return list(find_problems(build_installation(settings)))


def test_an_installed_site_is_served_without_a_setting(install: Install) -> None:
    install("notes", "twinframe_notes.plugin")
    client = Client(create_app(MEMORY))
    for base in ("", "/api"):
        answer = client.send("GET", f"{base}/notes/")
        assert answer.status == 200
        assert f"twinframe {twinframe.__version__}" in answer.body.decode()
        assert client.send("GET", f"{base}/notes/x").status == 404


def test_every_site_has_its_own_path(install: Install) -> None:
    install("notes", "twinframe_notes.plugin")
    paths = [site.path for site in build_sites(build_installation(MEMORY))]
    assert sorted(paths) == ["/explorer", "/notes"]


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        ("[Made('/models')]", "has a site at /models, where operations of the service are"),
        ("[Made('/api')]", "has a site at /api, where operations of the service are"),
        ("[Made('/graphs')]", "has a site at /graphs, where operations of the service are"),
        ("[Made('/messages')]", "has a site at /messages, where operations of the service are"),
        ("[Made(5)]", "has a site at 5: write one segment"),
        ("[Made('/a'), Made('/a')]", "both have a site at /a"),
        ("[Made('/explorer')]", "both have a site at /explorer"),
        ("[Made('notes')]", "write one segment of a-z, 0-9 and -, such as /explorer"),
        ("[Made('/notes/')]", "write one segment"),
        ("[Made('/Notes')]", "write one segment"),
        ("[5]", "which is not a subclass of twinframe.hooks.sites.Site"),
        ("1 / 0", "The hook twinframe_routes of made 1.0"),
    ],
)
def test_a_site_that_is_in_the_way_stops_the_start_and_names_who_brings_it(
    install: Install, answer: str, said: str
) -> None:
    install("made", f"made_{abs(hash(answer))}", SITE.format(answer=answer))
    (problem,) = list_problems()
    assert said in problem
    assert "made 1.0" in problem
    with pytest.raises(PluginError):
        create_app(MEMORY)


def test_two_sites_that_want_to_be_the_start_stop_the_start(install: Install) -> None:
    source = SITE.format(answer="[Made('/front')]").replace(
        "class Made(Site):", "class Made(Site):\n    is_start = True"
    )
    install("made", "made_front", source)
    (problem,) = list_problems()
    assert "/front of made 1.0" in problem
    assert "both want to be the start at /: one can." in problem
    with pytest.raises(PluginError):
        create_app(MEMORY)


def test_a_base_path_that_hides_a_site_stops_the_start(install: Install) -> None:
    install("notes", "twinframe_notes.plugin")
    settings = MEMORY.model_copy(
        update={"server": ServerSettings(workers=1, base_path="/Notes/v1")}
    )
    (problem,) = list_problems(settings)
    assert problem.startswith("Server__BasePath=/Notes/v1 would hide what notes 1.0")
    with pytest.raises(SettingsError):
        create_app(settings)


def test_a_plugin_that_cannot_be_imported_stops_the_start(install: Install) -> None:
    install("torn", "torn_site", "import nothing_of_this_name")
    (problem,) = list_problems()
    assert "torn 1.0 (twinframe.plugin: torn) cannot be imported" in problem
    assert "pip install --force-reinstall torn" in problem


def test_its_settings_stand_in_the_tree_under_its_name(install: Install) -> None:
    source = """
from twinframe import hookimpl
from twinframe.settings import Section

class BoardSettings(Section):
    size: int = 3

@hookimpl
def twinframe_settings():
    return BoardSettings

@hookimpl
def twinframe_routes(settings):
    assert settings.size == 7
    return ()
"""
    install("board", "board_site", source)
    installation = load_installation(environ={"BOARD__Size": "7"})
    build_sites(installation)


def test_the_page_shows_this_plugin() -> None:
    code = PAGE.read_text(encoding="utf-8").partition("```python\n")[2].partition("```")[0]
    shown = (HERE / "twinframe_notes/plugin.py").read_text(encoding="utf-8")
    body = shown.partition("from __future__ import annotations\n\n")[2]
    assert code == body
