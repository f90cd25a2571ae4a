"""`python -m twinframe_storage_rdf.storeprocess DIRECTORY IDLE`: started by the first client."""

from __future__ import annotations

import sys
from pathlib import Path

from twinframe_storage_rdf.storeprocess.frames import Files
from twinframe_storage_rdf.storeprocess.server import StoreServer

if __name__ == "__main__":
    StoreServer(Files(Path(sys.argv[1])), float(sys.argv[2])).run()
