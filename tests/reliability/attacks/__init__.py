"""Attacks on memory and on the event loop, for R25: a module a kind, found by its `ATTACKS`.

`python -m tests.reliability.attacks NAME PORT SECONDS STORAGE` runs one in a process of its own and
prints what was answered.
"""

from __future__ import annotations

from importlib import import_module
from pathlib import Path

from tests.reliability.attacks.attack import Attack

_OWN = ("__init__", "__main__", "attack", "probe", "world")


def list_attacks() -> tuple[Attack, ...]:
    """All attacks, in the order of their modules; their names are unique."""
    modules = sorted(
        path.stem for path in Path(__file__).parent.glob("*.py") if path.stem not in _OWN
    )
    found = tuple(
        attack
        for name in modules
        for attack in import_module(f"tests.reliability.attacks.{name}").ATTACKS
    )
    names = [attack.name for attack in found]
    assert len(set(names)) == len(names), "two attacks have the same name"
    return found
