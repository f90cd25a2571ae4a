"""The interface of procedures for plugins, and what they have to declare."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Final

from twinframe.access.permission_grammar import parse_permission
from twinframe.errors import InvalidArgument, PluginError
from twinframe.model.values import Node as Node
from twinframe.model.values import Path as Path
from twinframe.model.values import Relationship as Relationship
from twinframe.model.values import Value as Value
from twinframe.query.algebra import Direction as Direction
from twinframe.query.reader import GraphReader as GraphReader
from twinframe.query.writing.port import Effect as Effect
from twinframe.query.writing.procedures import TYPES as TYPES
from twinframe.query.writing.procedures import Procedure as Procedure
from twinframe.query.writing.procedures import ProcedureGraph as ProcedureGraph

if TYPE_CHECKING:
    from twinframe.hooks.drivers import Plugin
    from twinframe.settings import Section

_NAME: Final = re.compile(r"[A-Za-z]\w*(\.[A-Za-z]\w*)+", re.ASCII)
_FIELD: Final = re.compile(r"[A-Za-z]\w*", re.ASCII)
_OWN: Final = frozenset({"db", "dbms"})
"""The first parts of names that are the service's own, now or later."""


def find_fault(procedure: Procedure) -> str:
    """Return what is wrong with a declaration as a sentence; nothing if it can be called."""
    if not _NAME.fullmatch(procedure.name):
        return "write a name of two or more parts, such as acme.reachable."
    if procedure.name.partition(".")[0].lower() in _OWN:
        return "names that begin with db. or dbms. are the service's own."
    for fields in (procedure.arguments, procedure.results):
        names = [name for name, _ in fields]
        for name in names:
            if not _FIELD.fullmatch(name):
                return f"{name!r} is no name: write letters, digits and underscores."
            if names.count(name) > 1:
                return f"{name} is there twice."
    if Effect.READ not in procedure.effects:
        return "its effects need Effect.READ: each procedure may read the graph."
    if procedure.permission:
        try:
            parse_permission(procedure.permission)
        except InvalidArgument as error:
            return error.message
    return ""


def gather_procedures(plugins: Iterable[tuple[Plugin, Section]]) -> Sequence[Procedure]:
    """Build the procedures of plugins, each with its settings.

    Raises `PluginError` for two of one name, and for what a procedure may not declare.
    """
    found: dict[str, tuple[Procedure, str]] = {}
    for plugin, section in plugins:
        owner = plugin.info.owner
        for one in plugin.build_all("twinframe_procedures", Procedure, settings=section):
            reason = find_fault(one)
            if reason:
                raise PluginError(f"{owner} has the procedure {one.name}: {reason}")
            if one.name in found:
                other = found[one.name][1]
                raise PluginError(f"{owner} and {other} both have a procedure {one.name}.")
            found[one.name] = one, owner
    return [one for one, _ in found.values()]
