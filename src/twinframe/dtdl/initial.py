"""Builds the initial values of a new twin from the Initialization extension of its models.

The values were checked when the models were parsed.
"""

from __future__ import annotations

import copy
from collections.abc import Callable

from twinframe.dtdl.interfaces import Interface


def build_initial_values(
    interface: Interface, lookup: Callable[[str], Interface]
) -> dict[str, object]:
    """Return the initial properties of a twin and, as objects, all its components.

    The result conforms to the interface: a component without initial values is an empty object.
    `lookup` returns the interfaces of components; its errors are passed on.
    """
    values: dict[str, object] = {
        name: copy.deepcopy(prop.initial_value)
        for name, prop in interface.properties.items()
        if prop.initial_value is not None
    }
    for name, component in interface.components.items():
        part = lookup(component.schema)
        values[name] = {
            inner: copy.deepcopy(prop.initial_value)
            for inner, prop in part.properties.items()
            if prop.initial_value is not None
        }
    return values
