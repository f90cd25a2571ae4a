"""RealEstateCore over the wire: one POST of 767 interfaces, when the file is at hand."""

from __future__ import annotations

import gzip
import json
import os
import tempfile
import time
from pathlib import Path

from benchmarks.report import Figure, Report
from tests.e2e.server import Server
from tests.e2e.wire import Wire
from tests.shared import ROOT


def measure(report: Report) -> None:
    """Seconds from the request to the answer, with durable storage."""
    named = os.environ.get("TWINFRAME_REC_MODELS")
    file = Path(named) if named else ROOT.parent / "shared/data/rec-building-models.jsonl.gz"
    if not file.exists():
        print("TWINFRAME_REC_MODELS is not set: the ontology's figure is left out")
        return
    with gzip.open(file, "rt", encoding="utf-8") as lines:
        body = json.dumps([json.loads(line) for line in lines]).encode()
    with tempfile.TemporaryDirectory() as folder, Server(Path(folder)) as server:
        wire = Wire(server.port)
        begin = time.perf_counter()
        status, _, document = wire.call("POST", "/models", body)
        seconds = time.perf_counter() - begin
        wire.close()
    if status != 201:
        raise RuntimeError(document)
    report.add(
        Figure("RealEstateCore, 767 interfaces, one POST", seconds, "s", aim="< 5 s",
               kept=seconds < 5)
    )  # fmt: skip
