"""The locations that jobs read from and write to, within what the operator allows."""

from __future__ import annotations
