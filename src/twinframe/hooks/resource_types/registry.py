"""The registry of an installation's resource types, by wire name."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from twinframe.errors import InvalidArgument, PluginError
from twinframe.errors.nearest import render_hint
from twinframe.hooks.resource_types.base import ResourceType


class ResourceTypeRegistry:
    """Finds a type by its wire name. Two types of one name are refused."""

    def __init__(self, types: Iterable[ResourceType]) -> None:
        """Raises `PluginError` naming both classes when a name is taken twice."""
        self._types: dict[str, ResourceType] = {}
        for item in types:
            taken = self._types.setdefault(item.name, item)
            if taken is not item:
                raise PluginError(
                    f"The resource type {item.name} is brought by {_render_class(taken)} and by "
                    f"{_render_class(item)}. Uninstall the plugin of one of them."
                )

    def find(self, name: str) -> ResourceType:
        """Return the type of this name. Raises `InvalidArgument` with the nearest known name."""
        if (found := self._types.get(name)) is not None:
            return found
        hint = render_hint(name, self._types)
        raise InvalidArgument(f"There is no resource type {name!r}. {hint}")

    def __iter__(self) -> Iterator[ResourceType]:
        return iter(self._types.values())


def _render_class(item: ResourceType) -> str:
    return f"{type(item).__module__}.{type(item).__qualname__}"
