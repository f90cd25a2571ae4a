"""The command line: `twinframe COMMAND`. Each command group is a module; the work is done below."""

from __future__ import annotations

from twinframe.cli.main import main

__all__ = ["main"]
