"""A read-only index of the `extends` relation: transitive ancestors and descendants of interfaces.

Storage keeps its own closure of the same relation.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from twinframe.dtdl.interfaces import Interface


@dataclass(frozen=True, slots=True)
class Hierarchy:
    """An index of the `extends` relation; made by `build_hierarchy`."""

    _ancestors: dict[str, tuple[str, ...]] = field(default_factory=dict)
    _descendants: dict[str, tuple[str, ...]] = field(default_factory=dict)

    def ancestors(self, interface: str) -> tuple[str, ...]:
        """Return all bases of an interface, nearest first, without itself; none if unknown."""
        return self._ancestors.get(interface, ())

    def descendants(self, interface: str) -> tuple[str, ...]:
        """Return all interfaces that extend this one, directly or not, without itself."""
        return self._descendants.get(interface, ())

    def is_a(self, interface: str, base: str) -> bool:
        """Return whether `interface` is `base` or extends it, directly or not."""
        return interface == base or base in self._ancestors.get(interface, ())


def build_hierarchy(interfaces: Iterable[Interface]) -> Hierarchy:
    """Return the index of a set of interfaces; bases outside of the set are included."""
    ancestors: dict[str, tuple[str, ...]] = {}
    descendants: dict[str, list[str]] = {}
    for interface in interfaces:
        ancestors[interface.id] = interface.ancestors
        for base in interface.ancestors:
            descendants.setdefault(base, []).append(interface.id)
    return Hierarchy(ancestors, {base: tuple(found) for base, found in descendants.items()})
