"""Builds the procedures that scenarios declare, their rows by arguments, and a plugin of them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from types import ModuleType

from tests.tck.scenarios import NotUnderstood, Step
from tests.tck.values import parse_value
from twinframe import hookimpl
from twinframe.graph.statements.procedures import build_procedures
from twinframe.hooks.drivers import PROCEDURE, Plugin, PluginInfo
from twinframe.hooks.manager import build_manager, register
from twinframe.hooks.procedures import gather_procedures
from twinframe.model.values import Value
from twinframe.query.writing.procedures import Procedure, ProcedureGraph, Procedures
from twinframe.settings import Section

_SIGNATURE = re.compile(r"there exists a procedure (\S+?)\((.*?)\) :: \((.*?)\) ?:")
_FIELD = re.compile(r"\s*(\w+) :: (\w+\??)\s*")


def parse_procedure(step: Step) -> Procedure:
    """The procedure of a step: its table has a column for each argument, then for each result."""
    found = _SIGNATURE.fullmatch(step.text)
    if found is None:
        raise NotUnderstood(f"a procedure that is not understood: {step.text}")
    name, arguments, results = found[1], _parse_fields(found[2]), _parse_fields(found[3])
    rows = [tuple(map(parse_value, row)) for row in step.table[1:] if any(row)]
    width = len(arguments)

    def run(graph: ProcedureGraph, given: Sequence[Value]) -> Iterator[Sequence[Value]]:
        for row in rows:
            if list(row[:width]) == list(given):
                yield row[width:]  # type: ignore[misc]  # plain values

    return Procedure(name, arguments, results, run)


def _parse_fields(text: str) -> tuple[tuple[str, str], ...]:
    if not text.strip():
        return ()
    found = [_FIELD.fullmatch(part) for part in text.split(",")]
    return tuple((one[1], one[2]) for one in found if one is not None)


def install(procedures: Iterable[Procedure]) -> Procedures:
    """Return what statements may call where a plugin brings these procedures."""
    module, owner = ModuleType("kit"), "kit"

    @hookimpl
    def twinframe_procedures() -> Sequence[Procedure]:
        return [*procedures]

    vars(module)["twinframe_procedures"] = twinframe_procedures
    manager = build_manager()
    register(manager, module, owner)
    plugin = Plugin(PluginInfo(PROCEDURE.group, owner, owner, "1", owner), module, manager)
    return build_procedures(gather_procedures([(plugin, Section())]))
