"""Whole graphs as text: exports and imports in the vendor's NDJSON format, over any transport."""

from __future__ import annotations
