"""The inheritance hierarchy of interfaces, immutable, and a cache of its newest version."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

from twinframe.model.ids import build_labels

Interfaces = Mapping[str, tuple[str, ...]]
"""The direct parents of each known interface, all by DTMI."""


class Hierarchy:
    """Ancestors, descendants and labels of the known interfaces. Immutable."""

    def __init__(self, interfaces: Interfaces) -> None:
        self.interfaces = interfaces
        self._labels: dict[str, frozenset[str]] = {}

    def read_labels(self, model_id: str) -> frozenset[str]:
        """The labels of the twins of an interface."""
        labels = self._labels.get(model_id)
        if labels is None:
            labels = self._labels[model_id] = build_labels(_walk(model_id, self.interfaces))
        return labels

    def read_descendants(self, model_id: str) -> frozenset[str]:
        """Return the interface and all that extend it; empty when it is not known."""
        if model_id not in self.interfaces:
            return frozenset()
        return _walk(model_id, self._children)

    @cached_property
    def _children(self) -> Interfaces:
        children: dict[str, list[str]] = {}
        for child, parents in self.interfaces.items():
            for parent in parents:
                children.setdefault(parent, []).append(child)
        return {parent: tuple(found) for parent, found in children.items()}


@dataclass(slots=True)
class HierarchyCache:
    """The newest hierarchy that was read, with its version, for all sessions of a store."""

    held: tuple[int, Hierarchy] | None = None


def _walk(start: str, steps: Interfaces) -> frozenset[str]:
    seen = {start}
    open_ = [start]
    while open_:
        for reached in steps.get(open_.pop(), ()):
            if reached not in seen:
                seen.add(reached)
                open_.append(reached)
    return frozenset(seen)
