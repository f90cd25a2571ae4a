"""The registry of scalar functions by canonical name; `aggregates` has the aggregate functions."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from twinframe.query.evaluate.functions import (
    digitaltwins,
    graph,
    history,
    lists,
    mathematical,
    scalar,
    strings,
    temporal,
)
from twinframe.query.evaluate.functions.declare import Function

FUNCTIONS: Mapping[str, Function] = MappingProxyType(
    {
        **scalar.FUNCTIONS,
        **strings.FUNCTIONS,
        **lists.FUNCTIONS,
        **mathematical.FUNCTIONS,
        **graph.FUNCTIONS,
        **history.FUNCTIONS,
        **temporal.FUNCTIONS,
        **digitaltwins.FUNCTIONS,
    }
)
"""Every function that takes its arguments as values, by its name in `twinframe.query.cypher`."""
