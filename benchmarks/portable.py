"""Whole graphs in and out of SQLite as NDJSON: items a second, memory, equal bytes.

`python -m benchmarks.portable N [FOLDER]` imports N twins and 2 N relationships from a file, kept in
FOLDER between runs, in processes of their own, and exports the graph twice.
"""

from __future__ import annotations

import hashlib
import os
import random
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import orjson

from benchmarks.graph import INTERFACES, PREFIX, build_model
from benchmarks.report import Figure, Report

AIM = 15_000
MOST_MEMORY = 500


def write_file(path: Path, twins: int) -> None:
    """A campus of `twins` twins and twice as many relationships, in the vendor's form."""
    draw = random.Random(8)
    draft = path.with_suffix(".draft")
    with draft.open("wb") as out:

        def line(document: object) -> None:
            out.write(orjson.dumps(document, option=orjson.OPT_APPEND_NEWLINE))

        line({"Section": "Header"})
        line({"fileVersion": "1.0.0", "author": "benchmark"})
        line({"Section": "Models"})
        for name in INTERFACES:
            line(build_model(name))
        line({"Section": "Twins"})
        for at in range(twins):
            line(_build_twin(at, draw))
        line({"Section": "Relationships"})
        for at in range(twins):
            _write_relationships(line, at, twins, draw)
    draft.rename(path)


def _build_twin(at: int, draw: random.Random) -> dict[str, object]:
    if at % 5:
        contents: dict[str, object] = {
            "name": f"Sensor {at}",
            "value": draw.random() * 40,
            "unit": "celsius",
            "maker": f"maker-{at % 17}",
        }
        interface = "TemperatureSensor"
    else:
        contents = {
            "name": f"Room {at}",
            "area": draw.random() * 90,
            "capacity": at % 30,
            "occupied": at % 2 == 0,
        }
        interface = "Room"
    return {"$dtId": f"twin-{at:08}", "$metadata": {"$model": f"{PREFIX}{interface};1"}, **contents}


def _write_relationships(line, at: int, twins: int, draw: random.Random) -> None:  # type: ignore[no-untyped-def]  # local
    names = ("observes", "locatedIn") if at % 5 else ("contains", "adjacentTo")
    for number, name in enumerate(names):
        target = (at + 1 + draw.randrange(twins - 1)) % twins
        line(
            {
                "$dtId": f"twin-{at:08}",
                "$relationshipId": f"{name}-{number}",
                "$targetId": f"twin-{target:08}",
                "$relationshipName": name,
            }
        )


def _run(*arguments: str, folder: Path) -> tuple[float, float, int]:
    """Seconds, CPU seconds and MiB of memory that a command took at most."""
    environment = {**os.environ, "Storage__Sqlite__Directory": str(folder)}
    began = time.perf_counter()
    command = [sys.executable, "-m", "twinframe", *arguments]
    process = subprocess.Popen(command, env=environment, stdout=subprocess.DEVNULL)
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    assert process.returncode == 0, arguments
    seconds = time.perf_counter() - began
    return seconds, usage.ru_utime + usage.ru_stime, usage.ru_maxrss // 1024


def measure(report: Report, folder: Path, twins: int) -> None:
    """Import and export `twins` twins and twice as many relationships."""
    folder.mkdir(parents=True, exist_ok=True)
    file = folder / f"campus-{twins}.ndjson"
    if not file.exists():
        write_file(file, twins)
    place, items = folder / "imported", 3 * twins
    shutil.rmtree(place, ignore_errors=True)
    try:
        seconds, cpu, memory = _run("import", str(file), folder=place)
        rate = items / seconds
        name = f"import of {twins:,} twins, {2 * twins:,} relationships"
        report.add(Figure(name, rate, "items/s", aim=f">= {AIM:,}", kept=rate >= AIM))
        report.add(Figure("… CPU time of an item", cpu / items * 1e6, "us"))
        kept = memory <= MOST_MEMORY
        report.add(Figure("… memory", memory, "MiB", aim=f"<= {MOST_MEMORY}", kept=kept))
        hashes = set()
        for number in range(2):
            out = folder / f"exported-{number}.ndjson"
            seconds, _, memory = _run("export", str(out), folder=place)
            with out.open("rb") as exported:
                hashes.add(hashlib.file_digest(exported, "sha256").hexdigest())
            out.unlink()
        report.add(Figure("export of the same", items / seconds, "items/s"))
        report.add(Figure("… memory", memory, "MiB", aim=f"<= {MOST_MEMORY}", kept=kept))
        equal = len(hashes) == 1
        report.add(Figure("different exports of it", len(hashes), "", aim="1", kept=equal))
    finally:
        shutil.rmtree(place, ignore_errors=True)


def main() -> None:
    """Measure the size that is asked for."""
    twins = int(sys.argv[1])
    default = Path(tempfile.gettempdir()) / "twinframe-bench"
    folder = Path(sys.argv[2]) if len(sys.argv) > 2 else default
    report = Report()
    measure(report, folder, twins)
    report.render()
    if any(figure.kept is False for figure in report.figures):
        raise SystemExit(1)


if __name__ == "__main__":
    main()
