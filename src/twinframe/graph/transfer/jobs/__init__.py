"""Jobs of a graph: imports and deletions that run in the background and survive their workers."""

from __future__ import annotations
