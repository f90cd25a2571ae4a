"""The temporal schemas that models declare for members, found by the evaluator's own typing."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final

import numpy as np

from twinframe.model.temporal.durations import Duration
from twinframe.model.temporal.instants import Date, DateTime, Time
from twinframe.query.engine import CannotRun
from twinframe.query.evaluate.member_typing import Convert, MemberTyping
from twinframe.query.reader import GraphReader
from twinframe_columns.projection import Path, Projection

_SAMPLES: Final = ("2020-01-01T00:00:00Z", "2020-01-01", "00:00:00Z", "P1D")
_SCHEMAS: Final = {DateTime: "dateTime", Date: "date", Time: "time", Duration: "duration"}


class MemberSchemas:
    """The temporal schemas of members under one version of the models. Thread-safe."""

    def __init__(self, typing: MemberTyping) -> None:
        self.names = typing.names
        self._typing = typing
        self._known: dict[tuple[str, str | None, Path], str | None] = {}

    def find(
        self, reader: GraphReader, projection: Projection, name: str | None, path: Path
    ) -> str | None:
        """Return the schema of the texts of a member of all twins, or of the relationships `name`;
        None: they are texts. Raise `CannotRun` where models differ.
        """
        found = {
            self._find(reader, projection.models[number], name, path)
            for number in _list_models(projection, name, path)
        }
        if len(found) > 1:
            raise CannotRun(f"The member {path[-1]}, which models declare differently.")
        return found.pop() if found else None

    def _find(self, reader: GraphReader, model: str, name: str | None, path: Path) -> str | None:
        key = model, name, path
        if key not in self._known:
            if name is None:
                members = self._typing.find_twin_members(reader, model)
            else:
                members = self._typing.find_relationship_members(reader, model, name)
            convert = members.get(path[0])
            self._known[key] = None if convert is None else _try_samples(convert, path[1:])
        return self._known[key]


def _list_models(projection: Projection, name: str | None, path: Path) -> Iterable[int]:
    """Return the numbers of the models that may have the member."""
    if name is None:
        return [number for number, own in projection.members.items() if path in own]
    edges = projection.edges[name]
    numbers = projection.numbers[edges.sources]
    found: list[int] = np.flatnonzero(np.bincount(numbers[numbers >= 0])).tolist()
    return found


def _try_samples(convert: Convert, path: Path) -> str | None:
    """Return the schema of the texts at a path below a member, by what becomes of some."""
    for sample in _SAMPLES:
        value: Any = sample
        for name in reversed(path):
            value = {name: value}
        value = convert(value)
        for name in path:
            value = value[name]
        if type(value) in _SCHEMAS:
            return _SCHEMAS[type(value)]
    return None
