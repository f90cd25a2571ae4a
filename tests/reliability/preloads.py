"""Shared libraries in C of this folder, compiled when they are needed. It preloads nothing."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

from tests.reliability.judging import NotRun


def compile_preload(name: str, folder: Path) -> Path:
    """`name`.c of this folder as a library below `folder`, for LD_PRELOAD."""
    compiler = shutil.which("gcc") or shutil.which("cc")
    if compiler is None:
        raise NotRun("it needs a C compiler: apt-get install gcc libc6-dev")
    source = Path(__file__).with_name(f"{name}.c")
    library = folder / f"{name}.so"
    subprocess.run(
        [compiler, "-O2", "-shared", "-fPIC", "-o", str(library), str(source), "-ldl"], check=True
    )
    return library
