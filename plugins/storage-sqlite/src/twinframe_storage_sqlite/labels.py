"""Reads the labels of all interfaces of a graph."""

from __future__ import annotations

from twinframe.model.ids import build_labels
from twinframe_storage_sqlite.statements import StatementRunner

_ALL = """
SELECT c.descendant, a.dtmi
FROM interface_closure c JOIN interface a ON a.id = c.ancestor
ORDER BY c.descendant"""

LabelSets = dict[int, frozenset[str]]
"""Row id of an interface -> the labels of its twins."""


def read_label_sets(runner: StatementRunner) -> LabelSets:
    """The labels of every interface."""
    above: dict[int, set[str]] = {}
    for interface, ancestor in runner.read_all(_ALL):
        above.setdefault(interface, set()).add(ancestor)
    return {interface: build_labels(frozenset(found)) for interface, found in above.items()}
