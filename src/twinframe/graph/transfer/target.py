"""Opens the file of an export: it appears under its name once it is complete and durable."""

from __future__ import annotations

import gzip
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

from twinframe.runtime.files import rename_durably, sync_open
from twinframe.storage.backups import making_file


@contextmanager
def open_target(path: Path, *, packed: bool = False) -> Iterator[IO[bytes]]:
    """Open a file that is renamed once it is complete; gzip if `packed`, or if it ends in `.gz`."""
    with making_file(path) as draft:
        with draft.open("wb") as raw:
            with pack(raw, packed=packed or path.suffix == ".gz") as out:
                yield out
            sync_open(raw)
        rename_durably(draft, path)


@contextmanager
def pack(raw: IO[bytes], *, packed: bool) -> Iterator[IO[bytes]]:
    """Return a file that writes to `raw`, compressed if `packed`."""
    if not packed:
        yield raw
        return
    # NOTE: without a name and a time, so that the same graph gives the same bytes.
    with gzip.GzipFile("", "wb", 6, raw, mtime=0) as out:
        yield out  # type: ignore[misc]  # it is one in all that counts
