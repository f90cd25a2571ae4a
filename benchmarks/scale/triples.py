"""Counts what a graph takes as triples on disk, by embedded Oxigraph."""

from __future__ import annotations

import random
import tempfile
import time
from pathlib import Path
from typing import Final

from pyoxigraph import Store

from benchmarks.graph import INTERFACES, build_edge, build_twin, write_graph
from twinframe_storage_rdf.building import build_store
from twinframe_storage_rdf.settings import RdfSettings

_DEGREE: Final = 10


def _open(place: Path) -> Store:
    """The files, as soon as the process that kept them has ended."""
    for _ in range(600):
        try:
            return Store(str(place))
        except OSError:
            time.sleep(0.1)
    return Store(str(place))


def measure_triples(twins: int) -> dict[str, float]:
    """Triples of a twin with its ten relationships, and their bytes on disk."""
    dice = random.Random(9)
    names = [f"sensor-{at:09}" for at in range(twins)]
    records = [
        build_twin(
            name, "Sensor", name=name, value=dice.random(), unit="degreeCelsius", maker="acme"
        )
        for name in names
    ]
    edges = [
        build_edge(name, "observes", target)
        for name in names
        for target in dice.sample(names, _DEGREE)
    ]
    with tempfile.TemporaryDirectory() as folder:
        store = build_store(RdfSettings(engine="oxigraph", directory=folder), "default")
        store.open()
        write_graph(store, INTERFACES, records, edges)
        store.close()
        (place,) = (path.parent for path in Path(folder).rglob("CURRENT"))
        data = _open(place)
        data.optimize()
        data.flush()
        total = len(data)
        del data
        size = sum(path.stat().st_size for path in place.rglob("*.sst"))
    return {
        "triples": round(total / twins, 1),
        "bytes": round(size / twins, 1),
        "twins": twins,
    }
