"""Starts a store process; its first client runs this.

`python -m twinframe_storage_rdf.storeprocess DIRECTORY IDLE QUERY_BYTES`
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Final

from twinframe_storage_rdf.storeprocess.frames import Files
from twinframe_storage_rdf.storeprocess.server import StoreServer

# PERF: the longest wait of a short read for each thread that sends much.
_SWITCH_SECONDS: Final = 0.0005

if __name__ == "__main__":
    place, idle, query_bytes = sys.argv[1:]
    sys.setswitchinterval(_SWITCH_SECONDS)
    StoreServer(Files(Path(place)), float(idle), int(query_bytes)).run()
