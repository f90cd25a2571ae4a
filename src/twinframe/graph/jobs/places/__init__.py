"""Where jobs read from and write to, as far as the operator allows it. Nothing else is opened."""

from __future__ import annotations
