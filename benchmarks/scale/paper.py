"""The figures of `docs/scale.md`: what was measured, and one large graph worked through with it.

`python -m tests.house.generated --write` writes the tables into the page.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Final

from benchmarks.scale.measure import MEASURED
from benchmarks.scale.queueing import Writer, find_response
from benchmarks.scale.shards import Campus, Cluster, Costs, walk
from twinframe_storage_postgres.store import PostgresGraphStore

_MICRO: Final = 1e-6
_DAY: Final = 86_400

SPARQL: Final = {"Oxigraph server": (0.7, 2.9), "Virtuoso": (3.7, 8.4)}
"""Milliseconds of a read, and of an overwrite in a batch of 50.

By `docs/how-to/run-on-a-sparql-cluster.md`.
"""


@dataclass(frozen=True, slots=True)
class Example:
    """What is asked for. All of it is chosen, none of it measured."""

    twins: int = 100_000_000
    relationships: int = 1_000_000_000
    sites: int = 10_000
    reads: int = 50_000
    walks: int = 2_000
    hops: int = 3
    kept_days: int = 7
    cores: int = 32
    busy: float = 0.6
    trip: float = 0.0003
    network: float = 1.25e9
    machines: int = 8

    @property
    def rates(self) -> dict[str, float]:
        """Patches a second: each twin once a day, and once an hour."""
        return {"a patch a day": self.twins / _DAY, "a patch an hour": self.twins / 3600}


@dataclass(frozen=True, slots=True)
class Line:
    """Seconds that something costs by its size: `fixed` and `each`."""

    fixed: float
    each: float

    def at(self, size: float) -> float:
        """Seconds at this size."""
        return self.fixed + self.each * size


def fit(points: dict[float, float]) -> Line:
    """The line with the least sum of squared relative errors; `points` are sizes and seconds."""
    rows = [(1 / y, x / y) for x, y in points.items()]
    aa, ab, bb = (sum(p[i] * p[j] for p in rows) for i, j in ((0, 0), (0, 1), (1, 1)))
    a, b = sum(p[0] for p in rows), sum(p[1] for p in rows)
    both = aa * bb - ab * ab
    return Line((a * bb - b * ab) / both, (b * aa - a * ab) / both)


class Paper:
    """What was measured, as seconds and bytes, and the tables that follow from it."""

    def __init__(self, measured: dict[str, Any], example: Example | None = None) -> None:
        self._measured = measured
        self._example = example or Example()
        self._bytes: dict[str, float] = measured["bytes"]
        reads, writes = measured["reads"], measured["writes"]
        self.point = reads["point"]["cpu_us"] * _MICRO
        self.step = fit({float(k): v["cpu_us"] * _MICRO for k, v in reads["steps"].items()})
        batches = {k: v for k, v in writes.items() if k.isdigit()}
        self.batch = fit({float(k): v["cpu_us"] * _MICRO for k, v in batches.items()})
        self.sync = measured["disk"]["sync_us"] * _MICRO
        self.largest = PostgresGraphStore.traits.largest_batch
        client = {float(k): v["client_us"] * _MICRO for k, v in reads["steps"].items()}
        self.node_step = fit(client)
        self.node_read = measured["node"]["read_us"] * _MICRO
        self.node_write = measured["node"]["write_us"] * _MICRO

    def build_writer(self, *, node: float, more: float = 0.0) -> Writer:
        """The writer of a graph: two trips, a sync, the server's time, and `node` seconds a write.

        `more` seconds are added to each trip.
        """
        fixed = self.batch.fixed + self.sync + 2 * (self._example.trip + more)
        return Writer(fixed, self.batch.each + node, self.largest)

    def render(self, name: str) -> str:
        """The table of this name in Markdown."""
        tables: dict[str, Callable[[], str]] = {
            "conditions": self._render_conditions,
            "costs": self._render_costs,
            "example": self._render_example,
            "bytes": self._render_bytes,
            "writer": self._render_writer,
            "load": self._render_load,
            "reads": self._render_reads,
            "deployments": self._render_deployments,
            "shards": self._render_shards,
        }
        return tables[name]()

    def _render_conditions(self) -> str:
        asked = self._measured["conditions"]
        return _render_table(
            ("condition", "value"),
            [
                ("machine", f"{asked['machine']}; load average {asked['load'][0]}"),
                ("server", f"PostgreSQL {asked['server_version']}, on the same machine"),
                *((f"`{each}`", asked[each]) for each in _SETTINGS),
                ("client", f"psycopg {asked['psycopg']}, prepared statements"),
                ("graph", f"{asked['twins']:,} twins, {asked['degree']} relationships of each"),
            ],
        )

    def _render_costs(self) -> str:
        reads, writes, disk = (self._measured[each] for each in ("reads", "writes", "disk"))

        def build(name: str, one: dict[str, float]) -> tuple[str, ...]:
            return name, *(f"{one[key]:,.0f}" for key in ("cpu_us", "client_us", "wall_us"))

        return _render_table(
            ("operation", "server's processor time, µs", "client's, µs", "waiting, µs"),
            [
                build("nothing: `SELECT 1`", reads["ping"]),
                build("a twin by its id", reads["point"]),
                *(
                    build(f"relationships of {int(k):,} twins, {int(k) * 10:,} rows", v)
                    for k, v in reads["steps"].items()
                ),
                *(
                    build(f"{k} patches with their events, durable", v)
                    for k, v in writes.items()
                    if k.isdigit()
                ),
                ("a node: `GET` of a twin", "", f"{self._measured['node']['read_us']:,.0f}", ""),
                ("a node: `PUT`, durable", "", f"{self._measured['node']['write_us']:,.0f}", ""),
                ("a read of 8 KiB from the disk", "", "", f"{disk['read_us']:,.0f}"),
                ("8 KiB appended and synced", "", "", f"{disk['sync_us']:,.0f}"),
            ],
        )

    def _render_example(self) -> str:
        asked = self._example
        quiet, busy = asked.rates.values()
        return _render_table(
            ("input", "chosen"),
            [
                (
                    "twins, relationships, sites",
                    _count(asked.twins, asked.relationships, asked.sites),
                ),
                (
                    "patches a second",
                    f"{quiet:,.0f} (each twin once a day) and {busy:,.0f} (once an hour)",
                ),
                ("reads of a twin a second", _count(asked.reads)),
                ("walks a second", f"{asked.walks:,}, of {asked.hops} hops in one site"),
                ("events kept", f"{asked.kept_days} days"),
                ("a machine", f"{asked.cores} cores as measured, at most {asked.busy:.0%} busy"),
                ("network, there and back", f"{asked.trip * 1000:g} ms"),
                (
                    "network of a database",
                    f"{asked.network * 8 / 1e9:g} Gbit/s, at most {asked.busy:.0%} busy",
                ),
            ],
        )

    def _render_bytes(self) -> str:
        asked, size = self._example, self._bytes
        writes, triples = self._measured["writes"], self._measured["triples"]
        twins, edges = asked.twins * size["twin"], asked.relationships * size["relationship"]
        indexes = (
            asked.twins * size["twin_indexes"] + asked.relationships * size["relationship_indexes"]
        )
        rows = [
            ("twins", f"{size['twin']:,.0f} a twin", _scale(twins)),
            ("relationships", f"{size['relationship']:.0f} a relationship", _scale(edges)),
            (
                "of these, indexes",
                f"{size['twin_indexes']:.0f} and {size['relationship_indexes']:.0f}",
                _scale(indexes),
            ),
        ]
        for name, rate in asked.rates.items():
            written = rate * _DAY
            rows += [
                (
                    f"events, {asked.kept_days} days, {name}",
                    f"{writes['event_bytes']:.0f} an event",
                    _scale(written * asked.kept_days * writes["event_bytes"]),
                ),
                (
                    f"write-ahead log a day, {name}",
                    f"{writes['log_bytes']:,.0f} a patch",
                    _scale(written * writes["log_bytes"]),
                ),
                (
                    "… with `wal_compression`",
                    f"{writes['log_bytes_compressed']:,.0f} a patch",
                    _scale(written * writes["log_bytes_compressed"]),
                ),
            ]
        each = (
            f"{triples['bytes']:,.0f} a twin, with relationships {triples['triples']:.0f} triples"
        )
        rows.append(("all as triples (Oxigraph)", each, _scale(asked.twins * triples["bytes"])))
        return _render_table(("what", "bytes, measured", "the example"), rows)

    def _render_writer(self) -> str:
        rows = []
        kinds = (
            ("with the node", self.build_writer(node=self.node_write)),
            ("the database alone", self.build_writer(node=0)),
        )
        for name, writer in kinds:
            for share in (0.1, 0.5, 0.8, 0.95):
                rate = writer.capacity * share
                seen = writer.simulate(rate, 40_000, 1)
                rows.append(
                    (
                        name,
                        f"{share:.0%}",
                        f"{rate:,.0f}",
                        f"{max(1.0, rate * writer.find_batch(rate)):,.0f}",
                        f"{writer.find_response(rate) * 1000:.1f}",
                        f"{seen[int(len(seen) * 0.99)] * 1000:.1f}",
                    )
                )
        head = ("writer", "of its capacity", "writes a second", "writes a batch")
        return _render_table((*head, "p99 by the model, ms", "p99 simulated, ms"), rows)

    def _render_load(self) -> str:
        """Cores that are busy, of databases and of nodes, and what a read then takes."""
        asked = self._example
        twins = [10**step for step in range(asked.hops)]
        database = asked.reads * self.point, asked.walks * sum(map(self.step.at, twins))
        node = asked.reads * self.node_read, asked.walks * sum(map(self.node_step.at, twins))
        rows = [
            (f"{asked.reads:,} reads", f"{database[0]:.1f}", f"{node[0]:.1f}"),
            (f"{asked.walks:,} walks", f"{database[1]:.1f}", f"{node[1]:.1f}"),
        ]
        for label, rate in asked.rates.items():
            for name, batch in (("one by one", 1), (f"in batches of {self.largest}", self.largest)):
                cost = rate * self.batch.at(batch) / batch
                what = f"{rate:,.0f} patches ({label}), {name}"
                rows.append((what, f"{cost:.1f}", f"{rate * self.node_write:.1f}"))
        head = ("a second", "cores of the database", "cores of the nodes")
        return _render_table(head, rows)

    def _render_reads(self) -> str:
        """How long a read waits for a core of a machine that is busy to some part."""
        asked = self._example
        rows = []
        for busy in (0.3, 0.6, 0.9, 0.98):
            rate = busy * asked.cores / self.point
            warm = find_response(asked.cores, rate, self.point) + asked.trip
            cold = warm + _MISSED * self._measured["disk"]["read_us"] * _MICRO
            rows.append((f"{busy:.0%}", f"{rate:,.0f}", f"{warm * 1000:.2f}", f"{cold * 1000:.2f}"))
        head = ("busy", "reads a second", "p99, all in memory, ms")
        return _render_table((*head, f"p99, {_MISSED} blocks from the disk, ms"), rows)

    def _render_deployments(self) -> str:
        asked = self._example
        rows = []
        kinds = (
            ("PostgreSQL, one graph", 1, 1, 0.0),
            (f"PostgreSQL, a graph for each of {_REGIONS} regions", _REGIONS, 1, 0.0),
            ("PostgreSQL, a graph for each site", asked.sites, 1, 0.0),
            (f"… over {asked.machines} databases", asked.sites, asked.machines, 0.0),
            (f"Citus by site, {asked.machines} workers", asked.sites, asked.machines, asked.trip),
        )
        for name, graphs, machines, more in kinds:
            for label, rate in asked.rates.items():
                rows.append((name, label, *self._work_out(rate, graphs, machines, more)))
        for name, (_, write) in SPARQL.items():
            for label, rate in asked.rates.items():
                most = 1000 / write
                says = f"{most:,.0f}" + (": **too few**" if most < rate else "")
                rows.append((f"{name}, one graph", label, says, "-", "-"))
        head = ("deployment", "rate", "patches a second, with full batches")
        return _render_table((*head, "cores a database", "p99 of a patch, ms"), rows)

    def _work_out(self, rate: float, graphs: int, machines: int, more: float) -> tuple[str, ...]:
        """Capacity, cores that write, percentile; `more` seconds are on the way of each trip."""
        asked, writer = self._example, self.build_writer(node=self.node_write, more=more)
        room = asked.cores * asked.busy * machines

        def spend(total: float) -> float:
            """Cores of all databases at so many writes a second."""
            own = min(total / graphs, writer.capacity * 0.999)
            batch = max(1.0, own * writer.find_batch(own))
            return total * self.batch.at(batch) / batch

        full = self.batch.at(writer.largest) / writer.largest
        log = self._measured["writes"]["log_bytes_compressed"] / machines
        most = min(writer.capacity * graphs, room / full, asked.busy * asked.network / log)
        if rate > most:
            return f"{most:,.0f}: **too few**", "-", "-"
        late = writer.find_response(rate / graphs)
        cores = f"{spend(rate) / machines:.1f}" + (": **too many**" if spend(rate) > room else "")
        return f"{most:,.0f}", cores, f"{late * 1000:.1f}"

    def _render_shards(self) -> str:
        """The simulation: a walk over a graph by site and by id, on more and more shards."""
        costs = Costs(self.step.fixed, self.step.each, self._example.trip)
        rows = []
        for apart in (0.01, 0.1):
            campus = Campus(sites=64, twins=250, degree=10, apart=apart, seed=3)
            graph = campus.build()
            starts = range(0, len(graph), len(graph) // SIMULATED_WALKS)
            walks = [walk(graph, start, self._example.hops) for start in starts]
            for name, place in (("site", campus.place_by_site), ("id", campus.place_by_id)):
                for shards in (1, 4, 16, 64):
                    if name == "id" and shards == 1:
                        continue
                    cluster = Cluster(shards, SIMULATED_CORES, costs)
                    asked = cluster.split(walks, place)
                    most = cluster.find_capacity(asked)
                    seen = cluster.run(asked, most * self._example.busy, 4)
                    rows.append(
                        (
                            f"{apart:.0%}",
                            name,
                            f"{shards}",
                            f"{seen.requests / len(walks):.1f}",
                            f"{most:,.0f}",
                            f"{seen.find(0.5) * 1000:.1f}",
                            f"{seen.find(0.99) * 1000:.1f}",
                        )
                    )
        head = ("leads elsewhere", "placed by", "shards", "requests a walk")
        return _render_table((*head, "walks a second, at most", "p50, ms", "p99, ms"), rows)


SIMULATED_WALKS: Final = 1000
SIMULATED_CORES: Final = 4
_REGIONS: Final = 100
_MISSED: Final = 2
"""Blocks of a read where only the upper levels of the index are cached: a leaf, and the row."""

_SETTINGS: Final = ("synchronous_commit", "fsync", "shared_buffers", "wal_compression")


def _count(*numbers: int) -> str:
    return ", ".join(f"{each:,}" for each in numbers)


def _scale(size: float) -> str:
    return f"{size / 1e12:,.1f} TB" if size >= 1e12 else f"{size / 1e9:,.0f} GB"


def _render_table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    lines = [head, ["---"] * len(head), *rows]
    return "".join(f"| {' | '.join(each)} |\n" for each in lines)


def render_page(text: str) -> str:
    """The page with its tables made anew: each stands between two comments that name it."""
    paper = Paper(json.loads(MEASURED.read_text(encoding="utf-8")))
    parts = text.split("<!-- table: ")
    made = [parts[0]]
    for part in parts[1:]:
        name = part.partition(" -->")[0]
        rest = part.partition("<!-- end -->")[2]
        made.append(f"{name} -->\n\n{paper.render(name)}\n<!-- end -->{rest}")
    return "<!-- table: ".join(made)
