"""The rows of a query or statement, as a sequence of dictionaries."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, overload

from twinframe.graph.queries.names import QueryWarning
from twinframe.library.documents import Document
from twinframe.query.writing.run import Counters


@dataclass(frozen=True, slots=True, eq=False)
class Result(Sequence[Document]):
    """All rows: each a dictionary of column to JSON value, as in answers over HTTP.

    `columns` are the names in their order. `warnings` are about names that no model has.
    `counters` say what a statement changed; `charge` is the cost in query units.
    """

    rows: list[Document]
    columns: tuple[str, ...]
    warnings: tuple[QueryWarning, ...] = ()
    counters: Counters = field(default_factory=Counters)
    charge: float = 0.0

    def __len__(self) -> int:
        return len(self.rows)

    def __iter__(self) -> Iterator[Document]:
        return iter(self.rows)

    @overload
    def __getitem__(self, index: int) -> Document: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[Document]: ...
    def __getitem__(self, index: int | slice) -> Document | Sequence[Document]:
        return self.rows[index]

    def __repr__(self) -> str:
        names = ", ".join(self.columns)
        return f"<Result of {len(self.rows)} rows: {names}>"

    def read_column(self, name: str) -> list[Any]:
        """Return the values of one column, None where a row has none.

        Raises `KeyError` for another name.
        """
        if name not in self.columns:
            raise KeyError(name)
        return [row.get(name) for row in self.rows]
