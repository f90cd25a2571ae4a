"""The command line `twinframe COMMAND`: each command group is a module that calls the layers
below.
"""

from __future__ import annotations

from twinframe.cli.main import main

__all__ = ["main"]
