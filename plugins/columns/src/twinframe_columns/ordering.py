"""Orders rows by the values of vectors."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from twinframe.query.engine import CannotRun
from twinframe_columns import kinds as k
from twinframe_columns.kinds import Bools, Floats, Rows
from twinframe_columns.vectors import (
    Constant,
    Entities,
    Lists,
    Maps,
    Mixed,
    Numbers,
    Paths,
    Pieces,
    Texts,
    Times,
    Truths,
    Vector,
    simplify,
)


def find_order(keys: Sequence[tuple[Vector, bool]], count: int, most: int | None) -> Rows:
    """Return the rows in order, at most `most`; each key says whether it is descending."""
    ranks: list[Floats] = []
    for vector, descending in keys:
        found = _rank(simplify(vector), count)
        ranks += [-one for one in found] if descending else found
    if not ranks:
        return np.arange(count if most is None else min(count, most), dtype=np.int32)
    if most == 0:
        return np.empty(0, np.int32)
    if most is not None and most * 4 < count:
        first = ranks[0]
        bound = np.partition(first, most - 1)[most - 1]
        picked = np.flatnonzero(first <= bound)
        order = np.lexsort([rank[picked] for rank in reversed(ranks)])
        return picked[order[:most]].astype(np.int32)
    order = np.lexsort(list(reversed(ranks)))
    return order[:most].astype(np.int32)


def _rank(vector: Vector, count: int) -> list[Floats]:
    """Return numbers in the order of the values, the first of which decides; null is the
    greatest.
    """
    valid: Bools | None
    ranks: Floats
    match vector:
        case Constant():
            return []
        case Numbers(data=ranks, valid=valid):
            pass
        case Texts() | Times():
            ranks, valid = vector.strings.rank(vector.codes).astype(np.float64), vector.valid
        case Truths():
            ranks, valid = vector.true.astype(np.float64), vector.known
        case Mixed():
            return _rank_mixed(vector, count)
        case Pieces():
            return _rank(vector.sort(), count)
        case Entities() | Lists() | Maps() | Paths():
            raise CannotRun("An order of twins, relationships, lists or maps.")
    return [ranks if valid is None else np.where(valid, ranks, np.inf)]


def _rank_mixed(vector: Mixed, count: int) -> list[Floats]:
    """SPEC: texts come before booleans, these before numbers, and null is last."""
    kinds = vector.kinds
    if (kinds >= k.MAP).any():
        raise CannotRun("An order of lists, maps or large integers.")
    types = np.array((9, 2, 2, 3, 3, 1), np.float64)[kinds]
    values = np.zeros(count)
    values[kinds == k.TRUE] = 1
    is_number = (kinds == k.INTEGER) | (kinds == k.FLOAT)
    if vector.numbers is not None:
        values[is_number] = vector.numbers[is_number]
    is_text = kinds == k.STRING
    if vector.codes is not None and vector.strings is not None:
        values[is_text] = vector.strings.rank(vector.codes[is_text])
    return [types, values]
