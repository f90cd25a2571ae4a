"""The strict plugin manager, which raises an error for an unknown hook."""

from __future__ import annotations

from types import ModuleType
from typing import TYPE_CHECKING

import pluggy

from twinframe.errors import ConfigurationError, PluginError
from twinframe.errors.nearest import render_hint
from twinframe.hooks import specs

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

PROJECT = "twinframe"
HOOK_PREFIX = "twinframe_"


def build_manager() -> pluggy.PluginManager:
    """Build a manager that knows every hook of `specs` and names the plugin in errors of a hook."""
    manager = pluggy.PluginManager(PROJECT)
    manager.add_hookspecs(specs)
    manager.add_hookcall_monitoring(_before, _after)
    return manager


def register(manager: pluggy.PluginManager, plugin: ModuleType, owner: str) -> None:
    """Register a plugin's module. `owner` names its distribution in messages.

    Raises `PluginError` for an implementation of an unknown hook, with wrong arguments, or without
    its marker: pluggy alone would ignore the first and the last.
    """
    if manager.is_registered(plugin):
        return
    known = list_hooks()
    for name, member in vars(plugin).items():
        if not callable(member) or not _is_hook_like(manager, plugin, name):
            continue
        if name not in known:
            hint = render_hint(name, known)
            raise PluginError(f"{owner} implements the unknown hook {name}. {hint}")
        if manager.parse_hookimpl_opts(plugin, name) is None:
            raise PluginError(f"{owner}: {name} is not marked with @twinframe.hookimpl.")
    try:
        manager.register(plugin, name=owner)
        manager.check_pending()
    except pluggy.PluginValidationError as error:
        # NOTE: pluggy keeps half of what it refused; the manager is unusable after this.
        reason = " ".join(str(error).split())
        raise PluginError(f"{owner} breaks a hook's contract: {reason}") from error


def call_hook(
    manager: pluggy.PluginManager, plugin: ModuleType, name: str, /, **arguments: object
) -> object:
    """Call one hook on one plugin alone. None if the plugin does not implement it."""
    others = [other for other in manager.get_plugins() if other is not plugin]
    return manager.subset_hook_caller(name, others)(**arguments)


def list_hooks() -> list[str]:
    """The names of all hooks, in the order of `specs`."""
    return [name for name in vars(specs) if name.startswith(HOOK_PREFIX)]


def _is_hook_like(manager: pluggy.PluginManager, plugin: ModuleType, name: str) -> bool:
    if name.startswith(HOOK_PREFIX):
        return True
    return manager.parse_hookimpl_opts(plugin, name) is not None


def _before(
    hook_name: str, methods: Sequence[pluggy.HookImpl], kwargs: Mapping[str, object]
) -> None:
    """NOTE: pluggy requires both halves of a monitor; nothing happens before a call."""


def _after(
    outcome: pluggy.Result[object],
    hook_name: str,
    methods: Sequence[pluggy.HookImpl],
    kwargs: Mapping[str, object],
) -> None:
    error = outcome.exception
    if isinstance(error, Exception) and not isinstance(error, ConfigurationError):
        names = ", ".join(method.plugin_name for method in methods) or "no plugin"
        blamed = PluginError(f"The hook {hook_name} of {names} failed: {error!r}")
        blamed.__cause__ = error
        outcome.force_exception(blamed)
