"""`python -m twinframe` is `twinframe`. Nothing else."""

from __future__ import annotations

from twinframe.cli import main

main(prog_name="twinframe")
