"""Finds the variables that the steps of a statement read."""

from __future__ import annotations

from collections.abc import Sequence
from typing import assert_never

from twinframe.query import algebra as al
from twinframe.query.evaluate.analysis import find_mentioned
from twinframe.query.traversal import walk
from twinframe.query.writing import steps as st


def find_needed(following: Sequence[st.Step], columns: Sequence[str]) -> frozenset[str]:
    """Return the variables that later steps, or the columns, read."""
    found = set(columns)
    for step in following:
        found |= _find_read(step)
    return frozenset(found)


def find_read_within(step: st.Create) -> set[str]:
    """Return the variables whose properties, or paths, the step itself reads."""
    found = {name for path in step.paths for name in path.elements}
    given = [one.properties for one in step.elements if one.properties is not None]
    return found | find_in(*given)


def _find_read(step: st.Step) -> set[str]:
    match step:
        case st.Read(root=root, leaf=leaf):
            found = set(find_mentioned(root, ()))
            for term in walk(root):
                if isinstance(term, al.Match):
                    found.update(one.variable for one in term.pattern.nodes)
                    found.update(one.variable for one in term.pattern.relationships)
            return found if leaf is None else found | set(leaf.variables)
        case st.Create() | st.Merge():
            create = step if isinstance(step, st.Create) else step.create
            found = {name for path in create.paths for name in path.elements}
            for one in create.elements:
                if isinstance(one, st.NewRelationship):
                    found |= {one.source, one.target}
                if one.properties is not None:
                    found |= find_in(one.properties)
            if isinstance(step, st.Merge):
                found.update(one.variable for one in step.match.pattern.nodes)
                found |= _find_items(step.on_create) | _find_items(step.on_match)
            return found
        case st.Set(items=items):
            return _find_items(items)
        case st.Delete(expressions=expressions):
            return find_in(*expressions)
        case st.Call(arguments=arguments, predicate=predicate):
            return find_in(*arguments, *([] if predicate is None else [predicate]))
        case st.CallStatement(outer=outer):
            return set(outer)
        case _:
            assert_never(step)


def _find_items(items: Sequence[st.SetItem]) -> set[str]:
    found: set[str] = set()
    for item in items:
        found |= find_in(item.subject)
        if not isinstance(item, st.SetLabels) and item.value is not None:
            found |= find_in(item.value)
    return found


def find_in(*expressions: al.Expression) -> set[str]:
    """Return the variables that expressions read."""
    items = tuple((str(at), one) for at, one in enumerate(expressions))
    return set(find_mentioned(al.Project(al.Unit(), items), ()))
