"""Where test data that does not belong to the project is found."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]


def find_shared(variable: str, name: str) -> Path:
    """What `variable` names, else `name` in a `shared` folder beside the checkout.

    Skips the test, saying how to get the data, when neither is there.
    """
    named = os.environ.get(variable)
    found = Path(named) if named else ROOT.parent / "shared" / name
    if named or found.exists():
        return found
    pytest.skip(f"{variable} is not set and there is no ../shared/{name} beside the checkout")
