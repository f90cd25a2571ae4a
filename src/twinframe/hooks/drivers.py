"""The strict plugin loader: an unusable plugin stops the start with an error that names it.

The settings choose the plugin of a seam.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from importlib.metadata import EntryPoint, entry_points
from types import ModuleType
from typing import NoReturn, TypeVar

import pluggy
from stevedore.extension import ExtensionManager

from twinframe.errors import PluginError
from twinframe.errors.nearest import find_nearest
from twinframe.hooks.manager import call_hook, register


@dataclass(frozen=True, slots=True)
class Seam:
    """One seam: `group` is its entry-point group, `noun` the word for its plugins in messages.

    `hook` is the hook a plugin of it must implement. `distributions` are this project's plugins by
    name. SEC: only these are ever named in an installation hint, never a name made from input.
    """

    group: str
    noun: str
    hook: str
    distributions: Mapping[str, str] = field(default_factory=dict)


STORAGE = Seam(
    "twinframe.storage",
    "storage",
    "twinframe_graph_store",
    {
        "sqlite": "twinframe-storage-sqlite",
        "postgres": "twinframe-storage-postgres",
        "rdf": "twinframe-storage-rdf",
        "memory": "twinframe",
    },
)
PERMISSION_PROVIDER = Seam(
    "twinframe.permission_provider",
    "permission provider",
    "twinframe_permission_provider",
    {"Claims": "twinframe-auth-claims", "Api": "twinframe-auth-api"},
)
RESOURCE_TYPE = Seam(
    "twinframe.resource_type",
    "resource type",
    "twinframe_resource_types",
    dict.fromkeys(("graph", "flow", "assembler", "compass"), "twinframe-resource-types"),
)

EVENT_SINK = Seam(
    "twinframe.event_sink",
    "event sink",
    "twinframe_event_sink",
    {
        "webhook": "twinframe",
        "log": "twinframe",
        "mqtt": "twinframe-events-mqtt",
        "nats": "twinframe-events-nats",
        "kafka": "twinframe-events-kafka",
        "parquet": "twinframe-events-parquet",
    },
)

SOURCE = Seam(
    "twinframe.source",
    "source",
    "twinframe_source",
    {
        "mqtt": "twinframe-events-mqtt",
        "nats": "twinframe-events-nats",
        "kafka": "twinframe-events-kafka",
    },
)

SITE = Seam("twinframe.plugin", "site", "twinframe_routes", {"explorer": "twinframe-explorer"})

PROJECTION = Seam(
    "twinframe.query_projection",
    "projection",
    "twinframe_query_projection",
    {"columns": "twinframe-columns"},
)

PROCEDURE = Seam("twinframe.procedure", "procedure", "twinframe_procedures")

POINT_STORE = Seam(
    "twinframe.point_store",
    "point store",
    "twinframe_point_store",
    {"points": "twinframe-points"},
)

SEAMS = (
    STORAGE,
    PERMISSION_PROVIDER,
    RESOURCE_TYPE,
    EVENT_SINK,
    SOURCE,
    SITE,
    PROJECTION,
    POINT_STORE,
    PROCEDURE,
)

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class PluginInfo:
    """An installed plugin, not imported: its name in its group, and its distribution."""

    group: str
    name: str
    distribution: str
    version: str
    target: str

    @property
    def owner(self) -> str:
        """The plugin's name in messages."""
        return f"{self.distribution} {self.version} ({self.group}: {self.name})"


@dataclass(frozen=True, slots=True)
class Plugin:
    """A loaded plugin: its module has hook implementations and is registered with `manager`."""

    info: PluginInfo
    module: ModuleType
    manager: pluggy.PluginManager

    def call(self, hook: str, /, **arguments: object) -> object:
        """Call a hook on this plugin alone; None if it does not implement it.

        Raises `PluginError` naming the hook and the plugin for any error inside it.
        """
        return call_hook(self.manager, self.module, hook, **arguments)

    def build(self, hook: str, base: type[T], /, **arguments: object) -> T:
        """Build the object of a seam's hook. Raises `PluginError` if it is not a `base`."""
        built = self.call(hook, **arguments)
        if isinstance(built, base):
            return built
        if built is None:
            raise PluginError(f"{self.info.owner} gives nothing for the hook {hook}.")
        raise PluginError(
            f"{self.info.owner} gives a {type(built).__qualname__} for the hook {hook}, "
            f"which is not a subclass of {base.__module__}.{base.__qualname__}."
        )

    def build_all(self, hook: str, base: type[T], **arguments: object) -> tuple[T, ...]:
        """Build the objects of a hook that returns several.

        Raises `PluginError` as `build` does.
        """
        answer = self.call(hook, **arguments)
        # NOTE: a hook without `firstresult` returns a list with one entry an implementation.
        found = [item for answers in _as_list(answer) for item in _as_list(answers)]
        for item in found:
            if not isinstance(item, base):
                raise PluginError(
                    f"{self.info.owner} gives a {type(item).__qualname__} for the hook {hook}, "
                    f"which is not a subclass of {base.__module__}.{base.__qualname__}."
                )
        return tuple(item for item in found if isinstance(item, base))


def find_plugins(seam: Seam) -> tuple[PluginInfo, ...]:
    """List the installed plugins of a seam by name, duplicates included, without importing."""
    found = [_build_info(entry) for entry in entry_points(group=seam.group)]
    return tuple(sorted(found, key=lambda info: (info.name.casefold(), info.distribution)))


def find_plugin(seam: Seam, name: str) -> PluginInfo:
    """Return the one installed plugin of this name, ignoring letter case.

    Raises `PluginError` if there is none, saying what to install, or if there are several.
    """
    infos = find_plugins(seam)
    found = [info for info in infos if info.name.casefold() == name.casefold()]
    if not found:
        raise PluginError(_render_missing(seam, name, [info.name for info in infos]))
    if len(found) > 1:
        raise PluginError(_render_doubled(seam, found))
    return found[0]


def load_plugin(manager: pluggy.PluginManager, seam: Seam, name: str) -> Plugin:
    """Import the plugin `name` of a seam and register it. Raises `PluginError`."""
    return _load(manager, seam, find_plugin(seam, name))


def load_plugins(manager: pluggy.PluginManager, seam: Seam) -> tuple[Plugin, ...]:
    """Import all plugins of a seam, in the order of their names. Raises `PluginError`."""
    infos = find_plugins(seam)
    for info in infos:
        same = [other for other in infos if other.name.casefold() == info.name.casefold()]
        if len(same) > 1:
            raise PluginError(_render_doubled(seam, same))
    return tuple(_load(manager, seam, info) for info in infos)


class _StrictLoader(ExtensionManager[object]):
    """stevedore for a single entry point, found by us.

    NOTE: stevedore's own list comes from a cache file in the user's home, which loses the
    distributions and merges equal entries of different ones.
    """

    def __init__(self, info: PluginInfo) -> None:
        self._info = info
        super().__init__(info.group, on_load_failure_callback=self._refuse)

    def list_entry_points(self) -> list[EntryPoint]:
        return [EntryPoint(self._info.name, self._info.target, self._info.group)]

    def _refuse(
        self, _manager: ExtensionManager[object], _entry: EntryPoint, error: BaseException
    ) -> NoReturn:
        raise PluginError(
            f"{self._info.owner} cannot be imported: {type(error).__name__}: {error}. "
            f"Repair or remove it: pip install --force-reinstall {self._info.distribution}"
        ) from error


def _load(manager: pluggy.PluginManager, seam: Seam, info: PluginInfo) -> Plugin:
    try:
        extensions = _StrictLoader(info).extensions
    except (AssertionError, SystemExit) as error:  # NOTE: stevedore passes these to no callback
        reason = f"{type(error).__name__}: {error}"
        raise PluginError(f"{info.owner} cannot be imported: {reason}") from error
    module: object = extensions[0].plugin
    if not isinstance(module, ModuleType):
        raise PluginError(f"{info.owner} must name a module of hooks, not {info.target!r}.")
    register(manager, module, info.owner)
    plugin = Plugin(info, module, manager)
    if manager.parse_hookimpl_opts(module, seam.hook) is None:
        raise PluginError(f"{info.owner} does not implement the hook {seam.hook} of its seam.")
    return plugin


def _build_info(entry: EntryPoint) -> PluginInfo:
    distribution = entry.dist
    return PluginInfo(
        entry.group,
        entry.name,
        distribution.name if distribution is not None else "an unknown distribution",
        distribution.version if distribution is not None else "?",
        entry.value,
    )


def _render_missing(seam: Seam, name: str, installed: list[str]) -> str:
    known = {plugin.casefold(): plugin for plugin in (*seam.distributions, *installed)}
    text = f"There is no {seam.noun} plugin {name!r} installed. "
    if (plugin := known.get(name.casefold())) is not None:
        return text + f"Install it: pip install {seam.distributions[plugin]}"
    if near := find_nearest(name, known.values()):
        return text + f"Did you mean {near!r}?"
    return text + f"Installed are: {', '.join(installed) or 'none'}."


def _render_doubled(seam: Seam, found: Sequence[PluginInfo]) -> str:
    owners = " and ".join(f"{info.distribution} {info.version}" for info in found)
    return (
        f"The {seam.noun} plugin {found[0].name!r} is brought by {owners}. "
        "Uninstall all but one of them (pip uninstall NAME)."
    )


def _as_list(value: object) -> list[object]:
    return list(value) if isinstance(value, (list, tuple)) else [] if value is None else [value]
