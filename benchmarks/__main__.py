"""`python -m benchmarks [--quick] [--twins N] [--only NAME]`: every comparison in one run."""

from __future__ import annotations

import argparse
import shutil
import tempfile
from pathlib import Path

from benchmarks import (
    access,
    bolt,
    control,
    creates,
    derived,
    dtdl,
    engines,
    footprint,
    http,
    mcp,
    messages,
    ontology,
    past,
    points,
    portable,
    queries,
    rdf,
)
from benchmarks.graph import Shape, fill
from benchmarks.many import measure as many
from benchmarks.postgres import measure as postgres
from benchmarks.report import Report
from twinframe_storage_sqlite.settings import SqliteSettings
from twinframe_storage_sqlite.store import SqliteGraphStore

NAMES = (
    "access",
    "bolt",
    "control",
    "creates",
    "derived",
    "dtdl",
    "footprint",
    "http",
    "many",
    "mcp",
    "messages",
    "ontology",
    "past",
    "points",
    "portable",
    "postgres",
    "queries",
    "rdf",
)
_OWN_GRAPHS = {
    "control",
    "creates",
    "derived",
    "many",
    "messages",
    "points",
    "portable",
    "postgres",
    "rdf",
}


def _build_data(folder: Path, twins: int) -> Path:
    data = folder / f"graph-{twins}"
    if not data.exists():
        print(f"making a graph of {twins} twins ...", flush=True)
        draft = folder / f"draft-{twins}"
        shutil.rmtree(draft, ignore_errors=True)
        store = SqliteGraphStore(SqliteSettings(directory=str(draft)), "default")
        store.open()
        fill(store, Shape(twins))
        store.close()
        draft.rename(data)
    return data


def _parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="make bench ARGS=...")
    parser.add_argument("--quick", action="store_true", help="fewer and shorter rounds")
    parser.add_argument("--twins", type=int, default=100_000, help="size of the graph")
    parser.add_argument(
        "--growth",
        action="store_true",
        help="only: point, 1 hop and 3 hops at 10,000 to 1,000,000; with «--only many» all of them",
    )
    parser.add_argument("--only", choices=NAMES, action="append", help="only this part")
    parser.add_argument(
        "--data",
        type=Path,
        default=Path(tempfile.gettempdir()) / "twinframe-bench",
        help="folder for the graph, kept between runs",
    )
    parser.add_argument(
        "--answers",
        choices=("service", "columns", "both"),
        default="service",
        help="many: by the whole service, by its columns alone, or both",
    )
    parser.add_argument(
        "--shape", default="", help="many, postgres: only shapes with this in their names"
    )
    return parser.parse_args()


def main() -> None:
    """Run what was asked for and print the table."""
    asked = _parse()
    asked.data.mkdir(parents=True, exist_ok=True)
    report, parts = Report(), set(asked.only or NAMES)
    if asked.growth and parts != {"many"}:
        sizes = (10_000, 100_000, 1_000_000)
        queries.measure_growth(report, {each: _build_data(asked.data, each) for each in sizes})
        report.render()
        return
    _measure_own_graphs(report, parts, asked)
    if parts - _OWN_GRAPHS:
        _measure_graph(report, parts, asked)
    report.render()


def _measure_own_graphs(report: Report, parts: set[str], asked: argparse.Namespace) -> None:
    """The parts that make graphs of their own, or need none."""
    if "control" in parts:
        control.measure(report, quick=asked.quick)
    if "creates" in parts:
        creates.measure(report, quick=asked.quick)
    if "many" in parts:
        sizes = [20_000 if asked.quick else asked.twins]
        if asked.growth:
            sizes = [100_000, 1_000_000]
        many.measure(
            report, asked.data, sizes, answers=asked.answers, part=asked.shape, quick=asked.quick
        )
    if "rdf" in parts:
        rdf.measure(report, asked.twins, seconds=0.7 if asked.quick else 2.0)
    if "points" in parts:
        points.measure(report, quick=asked.quick)
    if "derived" in parts:
        derived.measure(report, quick=asked.quick)
    if "messages" in parts:
        messages.measure(report, quick=asked.quick)
    if "portable" in parts:
        portable.measure(report, asked.data, 10_000 if asked.quick else asked.twins)
    if "postgres" in parts:
        postgres.measure(report, asked.data, asked.twins, part=asked.shape, quick=asked.quick)


def _measure_graph(report: Report, parts: set[str], asked: argparse.Namespace) -> None:
    """The parts that share a graph."""
    data = _build_data(asked.data, asked.twins)
    if "queries" in parts:
        queries.measure(report, data, asked.twins, quick=asked.quick)
        engines.measure(report, asked.data, asked.twins, quick=asked.quick)
    if "past" in parts:
        past.measure(report, data, asked.twins, quick=asked.quick)
    if "http" in parts:
        work = asked.data / "written"
        shutil.rmtree(work, ignore_errors=True)
        shutil.copytree(data, work)
        http.measure(report, work, quick=asked.quick)
        shutil.rmtree(work)
    if "access" in parts:
        access.measure(report, data, quick=asked.quick)
    if "bolt" in parts:
        bolt.measure(report, data, quick=asked.quick)
    if "mcp" in parts:
        mcp.measure(report, data, quick=asked.quick)
    if "footprint" in parts:
        footprint.measure(report, data, quick=asked.quick)
    if "ontology" in parts:
        ontology.measure(report)
    if "dtdl" in parts:
        dtdl.measure(report, quick=asked.quick)


if __name__ == "__main__":
    main()
