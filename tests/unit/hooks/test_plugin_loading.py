"""The strict plugin loader: everything that cannot be used is an error that names its owner."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from twinframe.access.permissions import PermissionProvider
from twinframe.errors import PluginError, SettingsError
from twinframe.hooks.drivers import (
    PERMISSION_PROVIDER,
    RESOURCE_TYPE,
    STORAGE,
    find_plugin,
    find_plugins,
    load_plugin,
    load_plugins,
)
from twinframe.hooks.manager import build_manager, list_hooks
from twinframe.hooks.resource_types.base import ResourceType
from twinframe.hooks.sections import build_plugin_sections, build_section_path, read_section_class
from twinframe.settings import AuthorizationSettings, Section, load_settings

Install = Callable[..., None]

PROVIDER = """
from twinframe import hookimpl
from twinframe.access.permissions import PermissionProvider
from twinframe.settings import Section

class NobodySettings(Section):
    greeting: str = "no"

class Nobody(PermissionProvider):
    async def read_permissions(self, caller):
        return frozenset()

@hookimpl
def twinframe_settings():
    return NobodySettings

@hookimpl
def twinframe_permission_provider(settings):
    return Nobody()
"""


def build_provider(name: str, settings: object = None) -> PermissionProvider:
    plugin = load_plugin(build_manager(), PERMISSION_PROVIDER, name)
    hook = "twinframe_permission_provider"
    return plugin.build(
        hook,
        PermissionProvider,  # type: ignore[type-abstract]  # only for isinstance
        settings=settings,
        authorization=AuthorizationSettings(),
        resource="",
    )


def refuse(install: Install, source: str, module: str) -> str:
    """The message for a permission provider of this source."""
    install("twinframe-auth-odd", module, source, permission_provider=f"Odd = {module}")
    with pytest.raises(PluginError) as caught:
        build_provider("odd")
    assert "twinframe-auth-odd 1.0 (twinframe.permission_provider: Odd)" in caught.value.message
    return caught.value.message


def test_a_plugin_is_found_by_name_in_any_case_with_its_distribution(install: Install) -> None:
    install("acme-auth", "acme_auth_a", PROVIDER, permission_provider="Nobody = acme_auth_a")
    info = find_plugin(PERMISSION_PROVIDER, "NOBODY")
    assert (info.name, info.distribution, info.version) == ("Nobody", "acme-auth", "1.0")
    assert info in find_plugins(PERMISSION_PROVIDER)


def test_a_loaded_plugin_builds_its_driver(install: Install) -> None:
    install("acme-auth", "acme_auth_b", PROVIDER, permission_provider="Nobody = acme_auth_b")
    plugin = load_plugin(build_manager(), PERMISSION_PROVIDER, "nobody")
    section = read_section_class(plugin)
    assert section is not None
    assert build_section_path(plugin) == ("Authorization", "NobodyProvider")
    assert type(build_provider("nobody", section())).__name__ == "Nobody"


def test_a_plugin_answers_alone_though_others_are_registered(install: Install) -> None:
    other = PROVIDER.replace("NobodySettings", "OtherSettings")
    install("acme-auth", "acme_auth_c", PROVIDER, permission_provider="One = acme_auth_c")
    install("acme-more", "acme_auth_d", other, permission_provider="Two = acme_auth_d")
    manager = build_manager()
    one = load_plugin(manager, PERMISSION_PROVIDER, "One")
    two = load_plugin(manager, PERMISSION_PROVIDER, "Two")
    classes = [read_section_class(one), read_section_class(two)]
    assert [model.__name__ for model in classes if model] == ["NobodySettings", "OtherSettings"]


def test_a_missing_plugin_of_this_project_says_what_to_install(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("twinframe.hooks.drivers.entry_points", lambda group: ())
    with pytest.raises(PluginError, match="pip install twinframe-storage-rdf"):
        find_plugin(STORAGE, "RDF")


def test_an_unknown_plugin_is_never_turned_into_an_installation_hint() -> None:
    with pytest.raises(PluginError) as caught:
        find_plugin(STORAGE, "sqlte")
    assert "pip" not in caught.value.message
    assert "Did you mean 'sqlite'?" in caught.value.message
    with pytest.raises(PluginError, match=r"Installed are: .*rdf"):
        find_plugin(STORAGE, "zzz")


def test_two_plugins_of_one_name_are_refused_naming_both(install: Install) -> None:
    install("acme-auth", "acme_auth_e", PROVIDER, permission_provider="Dup = acme_auth_e")
    install("evil-auth", "acme_auth_f", PROVIDER, permission_provider="dup = acme_auth_f")
    with pytest.raises(PluginError, match=r"acme-auth 1\.0 and evil-auth 1\.0"):
        load_plugin(build_manager(), PERMISSION_PROVIDER, "Dup")
    with pytest.raises(PluginError, match=r"acme-auth 1\.0 and evil-auth 1\.0"):
        load_plugins(build_manager(), PERMISSION_PROVIDER)


def test_the_same_entry_of_two_distributions_is_doubled_too(install: Install) -> None:
    install("acme-auth", "acme_auth_g", PROVIDER, permission_provider="Dup = acme_auth_g")
    install("evil-auth", "acme_auth_g", PROVIDER, permission_provider="Dup = acme_auth_g")
    with pytest.raises(PluginError, match=r"acme-auth 1\.0 and evil-auth 1\.0"):
        load_plugin(build_manager(), PERMISSION_PROVIDER, "Dup")


@pytest.mark.parametrize(
    ("module", "source", "said"),
    [
        ("odd_import", "import no_such_module", "ModuleNotFoundError: No module named"),
        ("odd_syntax", "def (", "SyntaxError"),
        ("odd_assert", "assert False, 'not here'", "AssertionError: not here"),
        ("odd_error", "1 / 0", "ZeroDivisionError"),
        ("odd_exit", "raise SystemExit(5)", "SystemExit: 5"),
    ],
)
def test_a_plugin_that_cannot_be_imported_stops_the_start(
    install: Install, module: str, source: str, said: str
) -> None:
    message = refuse(install, source, module)
    assert "cannot be imported" in message
    assert said in message


def test_a_misspelt_hook_is_refused_with_the_nearest(install: Install) -> None:
    source = PROVIDER.replace("twinframe_settings", "twinframe_setings")
    message = refuse(install, source, "odd_spelling")
    assert "unknown hook twinframe_setings. Did you mean twinframe_settings?" in message


def test_a_marked_function_that_is_no_hook_is_refused(install: Install) -> None:
    source = PROVIDER.replace("def twinframe_settings", "def settings")
    assert "unknown hook settings" in refuse(install, source, "odd_marked")


def test_a_hook_without_its_marker_is_refused(install: Install) -> None:
    source = PROVIDER.replace("@hookimpl\ndef twinframe_settings", "def twinframe_settings")
    assert "twinframe_settings is not marked with @twinframe.hookimpl" in refuse(
        install, source, "odd_unmarked"
    )


def test_a_hook_with_wrong_arguments_is_refused(install: Install) -> None:
    source = PROVIDER.replace("provider(settings)", "provider(settigns)")
    assert "breaks a hook's contract" in refuse(install, source, "odd_arguments")


def test_a_plugin_without_the_hook_of_its_seam_is_refused(install: Install) -> None:
    source = PROVIDER.replace("twinframe_permission_provider", "build")
    message = refuse(install, source.replace("@hookimpl\ndef build", "def build"), "odd_missing")
    assert "does not implement the hook twinframe_permission_provider" in message


def test_an_entry_point_that_names_no_module_is_refused(install: Install) -> None:
    install(
        "twinframe-auth-odd", "odd_class", PROVIDER, permission_provider="Odd = odd_class:Nobody"
    )
    with pytest.raises(PluginError, match="must name a module of hooks"):
        load_plugin(build_manager(), PERMISSION_PROVIDER, "Odd")


def test_a_driver_of_the_wrong_base_class_is_refused(install: Install) -> None:
    message = refuse(install, PROVIDER.replace("return Nobody()", "return 5"), "odd_base")
    assert "gives a int for the hook twinframe_permission_provider" in message
    assert "twinframe.access.permissions.PermissionProvider" in message


def test_a_driver_that_is_none_is_refused(install: Install) -> None:
    message = refuse(install, PROVIDER.replace("return Nobody()", "return None"), "odd_none")
    assert "gives nothing for the hook" in message


def test_an_error_inside_a_hook_names_hook_and_plugin(install: Install) -> None:
    install(
        "twinframe-auth-odd",
        "odd_raises",
        PROVIDER.replace("return Nobody()", "raise OSError('no disk')"),
        permission_provider="Odd = odd_raises",
    )
    with pytest.raises(
        PluginError, match=r"twinframe_permission_provider of twinframe-auth-odd 1\.0 .* failed"
    ):
        build_provider("Odd")


def test_a_configuration_error_of_a_hook_passes_unchanged(install: Install) -> None:
    install(
        "twinframe-auth-odd",
        "odd_refuses",
        "from twinframe.errors import SettingsError\n"
        + PROVIDER.replace("return Nobody()", "raise SettingsError('set BaseUrl')"),
        permission_provider="Odd = odd_refuses",
    )
    with pytest.raises(SettingsError, match="set BaseUrl"):
        build_provider("Odd")


def test_a_falsy_driver_is_a_driver(install: Install) -> None:
    source = PROVIDER.replace("    async def", "    def __len__(self): return 0\n    async def")
    install("acme-auth", "acme_falsy", source, permission_provider="Falsy = acme_falsy")
    assert type(build_provider("Falsy")).__name__ == "Nobody"


def test_all_plugins_of_a_group_bring_their_types(install: Install) -> None:
    source = """
from twinframe import hookimpl
from twinframe.hooks.resource_types.base import ResourceSettings, ResourceType

class Boat(ResourceType):
    name = "Platform.Boat"
    settings_model = ResourceSettings

@hookimpl
def twinframe_resource_types():
    return (Boat(),)
"""
    install("acme-boats", "acme_boats", source, resource_type="boats = acme_boats")
    plugins = load_plugins(build_manager(), RESOURCE_TYPE)
    boats = next(plugin for plugin in plugins if plugin.info.name == "boats")
    (boat,) = boats.build_all("twinframe_resource_types", ResourceType, settings=Section())
    assert boat.name == "Platform.Boat"


def test_a_resource_type_of_the_wrong_base_class_is_refused(install: Install) -> None:
    source = (
        "from twinframe import hookimpl\n@hookimpl\ndef twinframe_resource_types(): return ['boat']"
    )
    install("acme-boats", "acme_boats_odd", source, resource_type="odd = acme_boats_odd")
    plugin = load_plugin(build_manager(), RESOURCE_TYPE, "odd")
    with pytest.raises(PluginError, match=r"acme-boats 1\.0 .* gives a str"):
        plugin.build_all("twinframe_resource_types", ResourceType, settings=Section())


def test_settings_of_an_installed_plugin_stand_under_its_seam_and_name(install: Install) -> None:
    install("acme-auth", "acme_auth_h", PROVIDER, permission_provider="Nobody = acme_auth_h")
    environ = {
        "Storage__Provider": "sqlite",
        "Authorization__Enabled": "true",
        "Authorization__Provider": "nobody",
        "AUTHORIZATION__NOBODYPROVIDER__GREETING": "go away",
    }
    plugin_sections = build_plugin_sections(build_manager())
    del plugin_sections["Storage"]
    configuration = load_settings(None, environ, plugin_sections)
    section = configuration.sections["Authorization", "NobodyProvider"]
    assert section.model_dump() == {"greeting": "go away"}


def test_the_map_of_hooks_is_not_empty() -> None:
    assert "twinframe_graph_store" in list_hooks()
