"""Jobs of a graph: imports and deletions that go on behind requests, and survive their workers."""

from __future__ import annotations
