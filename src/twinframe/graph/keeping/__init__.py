"""What a graph keeps of its past."""

from __future__ import annotations
