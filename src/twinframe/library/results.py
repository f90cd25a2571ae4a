"""The rows of a query or statement, as a sequence of dictionaries."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, overload

from twinframe.graph.queries.names import QueryWarning
from twinframe.library.documents import Document
from twinframe.library.frames import build_frame, build_table
from twinframe.query.writing.surroundings import Counters

if TYPE_CHECKING:
    import pandas as pd
    import pyarrow as pa


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

    def to_pandas(self, *, times: bool = True) -> pd.DataFrame:
        """Return a data frame with a column for each of `columns`.

        Integers and booleans with gaps are `Int64` and `boolean`, twins and lists stay dictionaries
        and lists. Texts become `datetime64` in UTC where all of a column are times with an offset,
        and without a zone where all are dates; not with `times=False`. Raises
        `ModuleNotFoundError` without pandas (`pip install 'twinframe[pandas]'`).
        """
        return build_frame(self.rows, self.columns, times=times)

    def to_arrow(self, *, times: bool = True) -> pa.Table:
        """Return an Arrow table with a column for each of `columns`.

        Twins are structs with the members of all of them, times as for `to_pandas` (`date32` and
        nanoseconds in UTC). A column whose values have no type in common has their JSON texts.
        Raises `ModuleNotFoundError` without pyarrow (`pip install 'twinframe[arrow]'`).
        """
        return build_table(self.rows, self.columns, times=times)
