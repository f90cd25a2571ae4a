"""How much memory the arrays of an object take."""

from __future__ import annotations

import gc
from types import FunctionType, ModuleType

import numpy as np


def measure_arrays(whole: object) -> int:
    """Bytes of all NumPy arrays that an object leads to, each buffer once.

    What numbers and small objects take beside them is left out.
    """
    seen: set[int] = set()
    waiting: list[object] = [whole]
    total = 0
    while waiting:
        one = waiting.pop()
        if id(one) in seen or isinstance(one, type | ModuleType | FunctionType):
            continue
        seen.add(id(one))
        if isinstance(one, np.ndarray):
            if isinstance(one.base, np.ndarray):
                waiting.append(one.base)
            else:
                total += one.nbytes
            continue
        waiting.extend(gc.get_referents(one))
    return total
