"""Binds named paths from nodes and relationships that are matched already."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from twinframe.model.values import Node, Path, Relationship
from twinframe.query.algebra import PathPattern
from twinframe.query.evaluate.patterns.batches import read_batches
from twinframe.query.evaluate.run import Row, Run
from twinframe.query.evaluate.scope import Scope


def compile_path(
    pattern: PathPattern, scope: Scope
) -> Callable[[Run, Iterator[Row]], Iterator[Row]]:
    """Add the path to each row; the nodes inside of variable-length parts are read in batches."""
    first = scope.find_slot(pattern.elements[0])
    slots = [scope.find_slot(name) for name in pattern.elements]

    def build(run: Run, rows: Iterator[Row]) -> Iterator[Row]:
        for batch in read_batches(rows, run.reader):
            crossings = [_list_relationships(row, slots[1::2], row[first]) for row in batch]
            known = {
                node.id: node for row in batch for slot in slots[::2]
                if isinstance(node := row[slot], Node)
            }  # fmt: skip
            walks = [
                _list_ids(row[first], crossed)
                for row, crossed in zip(batch, crossings, strict=True)
            ]
            missing = {one: None for walk in walks for one in walk if one not in known}
            if missing:
                known.update(run.reader.read_nodes(tuple(missing)))
            for row, crossed, walk in zip(batch, crossings, walks, strict=True):
                if all(one in known for one in walk):
                    yield (*row, Path(tuple(known[one] for one in walk), tuple(crossed)))

    return build


def _list_relationships(row: Row, slots: Sequence[int], start: object) -> list[Relationship]:
    """List the path's relationships in order, lists of variable-length parts flattened."""
    found: list[Relationship] = []
    at = start.id if isinstance(start, Node) else ""
    for slot in slots:
        value = row[slot]
        part = [value] if isinstance(value, Relationship) else value
        if not isinstance(part, list):
            continue
        crossed = [one for one in part if isinstance(one, Relationship)]
        if _walk(at, crossed) is None:
            # NOTE: the path is written from the pattern's right to its left.
            crossed.reverse()
        found += crossed
        at = (_walk(at, crossed) or [at])[-1]
    return found


def _list_ids(start: object, crossed: Sequence[Relationship]) -> list[str]:
    assert isinstance(start, Node)  # noqa: S101  # a path begins at a node
    return _walk(start.id, crossed) or []


def _walk(start: str, crossed: Sequence[Relationship]) -> list[str] | None:
    """Return the ids passed when following the relationships from `start`; None if they do not
    join.
    """
    ids = [start]
    for one in crossed:
        if one.source == ids[-1]:
            ids.append(one.target)
        elif one.target == ids[-1]:
            ids.append(one.source)
        else:
            return None
    return ids
