"""Whole graphs in and out of SQLite as NDJSON: items a second, memory, equal bytes.

`python -m benchmarks.portable N [FOLDER] [--scattered]` imports N twins and 2 N relationships from
a file, kept in FOLDER between runs, in processes of their own, and exports the graph twice.
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
from collections.abc import Iterator
from pathlib import Path

import orjson

from benchmarks.graph import INTERFACES, PREFIX, build_model
from benchmarks.report import Figure, Report

AIM = 15_000
MOST_MEMORY = 500


def write_file(path: Path, twins: int, *, scattered: bool = False) -> None:
    """A campus of `twins` twins and twice as many relationships, in the vendor's form.

    `scattered`: targets are drawn from all twins, which no index likes.
    """
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
            for relationship in _build_relationships(at, twins, draw if scattered else None):
                line(relationship)
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


def _build_relationships(
    at: int, twins: int, draw: random.Random | None
) -> Iterator[dict[str, object]]:
    """Two of each twin: of a campus, where most are near, or with `draw` to any twin at all."""
    room = at - at % 5
    near = (room, at - at % 100) if at % 5 else (at + 1, at + 5)
    names = ("observes", "locatedIn") if at % 5 else ("contains", "adjacentTo")
    for name, target in zip(names, near, strict=True):
        if draw is not None:
            target = at + 1 + draw.randrange(twins - 1)
        yield {
            "$dtId": f"twin-{at:08}",
            "$relationshipId": f"{name}-1",
            "$targetId": f"twin-{target % twins:08}",
            "$relationshipName": name,
        }


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


def measure(report: Report, folder: Path, twins: int, *, scattered: bool = False) -> None:
    """Import and export `twins` twins and twice as many relationships."""
    folder.mkdir(parents=True, exist_ok=True)
    kind = "scattered" if scattered else "campus"
    file = folder / f"{kind}-{twins}.ndjson"
    if not file.exists():
        write_file(file, twins, scattered=scattered)
    place, items = folder / "imported", 3 * twins
    shutil.rmtree(place, ignore_errors=True)
    try:
        seconds, cpu, memory = _run("import", str(file), folder=place)
        rate = items / seconds
        name = f"import, {kind}: {twins:,} twins, {2 * twins:,} relationships"
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
    named = [each for each in sys.argv[2:] if not each.startswith("-")]
    folder = Path(named[0]) if named else default
    report = Report()
    measure(report, folder, twins, scattered="--scattered" in sys.argv)
    report.render()
    if any(figure.kept is False for figure in report.figures):
        raise SystemExit(1)


if __name__ == "__main__":
    main()
