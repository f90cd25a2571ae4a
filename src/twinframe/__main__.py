"""Runs the command line as `python -m twinframe`."""

from __future__ import annotations

from twinframe.cli import main

main(prog_name="twinframe")
