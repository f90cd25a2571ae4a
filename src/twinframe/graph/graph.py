"""The data plane of one graph: an object with all its use cases over one open store."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Final, TypeAlias

from twinframe.graph.background.indexes import IndexKind
from twinframe.graph.background.runner import BackgroundTask
from twinframe.graph.context.context import GraphContext, GraphRunner
from twinframe.graph.context.write_clock import WriteClock
from twinframe.graph.delivery.deliverer import RouteKind
from twinframe.graph.delivery.endpoints import NO_ENDPOINTS, Endpoints
from twinframe.graph.delivery.routes import EventRoutes
from twinframe.graph.delivery.streams import EventStreams
from twinframe.graph.delivery.upkeep import OutboxKind
from twinframe.graph.derivations.background import DerivationKind
from twinframe.graph.derivations.computing import Computing
from twinframe.graph.derivations.derivations import Derivations
from twinframe.graph.events.recorder import EventRecorder, build_source
from twinframe.graph.history.changes import Changes
from twinframe.graph.history.history import History
from twinframe.graph.ingestion.standing import Standings
from twinframe.graph.keeping.keeping import Keeping
from twinframe.graph.models.models import Models
from twinframe.graph.queries.neighborhood import Neighborhoods
from twinframe.graph.queries.overview import Overview
from twinframe.graph.queries.queries import Queries
from twinframe.graph.queries.triples import Triples
from twinframe.graph.series.runner import PointRunner
from twinframe.graph.series.series import Series
from twinframe.graph.series.upkeep import PointKind
from twinframe.graph.statements.explicit import ExplicitTransactions
from twinframe.graph.statements.procedures import build_procedures
from twinframe.graph.statements.statements import Statements
from twinframe.graph.transfer.exporting import Portable
from twinframe.graph.transfer.jobs.deletions import DeleteJobs
from twinframe.graph.transfer.jobs.imports import ImportJobs
from twinframe.graph.transfer.jobs.runner import JobRunner, RunApart
from twinframe.graph.transfer.locations.locations import JobLocations, build_locations
from twinframe.graph.transfer.locations.uploads import UploadLocation
from twinframe.graph.transfer.tables import TableExport
from twinframe.graph.transfer.uploads.uploads import UploadKind, Uploads
from twinframe.graph.twins.bulk import Bulk
from twinframe.graph.twins.observation import Observation
from twinframe.graph.twins.relationships import Relationships
from twinframe.graph.twins.telemetry import Telemetry
from twinframe.graph.twins.transactions import Transactions
from twinframe.graph.twins.twins import Components, Twins
from twinframe.graph.workspaces.workspaces import Workspaces
from twinframe.model.clock import Clock, build_steady_clock, read_clock
from twinframe.query.engine import QueryEngine
from twinframe.query.writing.procedures import Procedure
from twinframe.runtime.instruments.base import Instruments
from twinframe.runtime.memory import MemoryAccount
from twinframe.settings import Settings
from twinframe.storage.indexes import IndexUpkeep
from twinframe.storage.points import PointStore
from twinframe.storage.triples import TripleSupport

BuildIngestion: TypeAlias = Callable[[GraphContext, Series, Instruments | None], BackgroundTask]

_HOSTED_IDLE_SECONDS: Final = 10.0
"""Seconds after which an idle delivery of a hosted graph ends, so that the graph can be closed."""


class Graph:
    """The use cases that REST and MCP call.

    Documents in are parsed JSON, documents out JSON text.
    """

    def __init__(
        self,
        runner: GraphRunner,
        settings: Settings,
        *,
        engine: QueryEngine | None = None,
        clock: Clock = read_clock,
        scratch: Path | None = None,
        instruments: Instruments | None = None,
        host: str | None = None,
        graph_id: str = "",
        triples: TripleSupport | None = None,
        endpoints: Endpoints = NO_ENDPOINTS,
        locations: JobLocations | None = None,
        memory: MemoryAccount | None = None,
        index_upkeep: IndexUpkeep | None = None,
        run_apart: RunApart | None = None,
        points: PointStore | None = None,
        ingest: BuildIngestion | None = None,
        procedures: Sequence[Procedure] = (),
    ) -> None:
        """`engine` is the store's own query engine; without one the evaluator runs all queries.

        `scratch` is the store's directory for files that may be lost, if it has one. `instruments`
        receive data about queries. `host` is the name of a hosted graph's own host, for its events,
        `graph_id` its id. `triples` writes the graph as RDF and queries it in SPARQL. `endpoints`
        are those that its event routes may use. `locations` are those that its jobs may read and
        write; None: those that the settings allow to the service's own graph. `memory` is what the
        worker may hold for all its graphs. `index_upkeep` is the store's, if it has that ability.
        `run_apart` runs long jobs in processes of their own. `points` are kept there, if at all.
        `ingest` makes the background task that takes in messages of sources, if there are any.
        `procedures` are those that statements may call besides the built-in ones.
        """
        clock = build_steady_clock(clock)
        write_clock = WriteClock(clock)
        silent = not settings.events.enabled
        recorder = EventRecorder(build_source(settings, host), write_clock, silent=silent)
        memory = memory or MemoryAccount()
        context = GraphContext(
            runner, settings, clock, recorder=recorder, memory=memory, write_clock=write_clock
        )
        self.twins = Twins(context)
        self.components = Components(context, self.twins)
        self.relationships = Relationships(context)
        self.models = Models(context)
        self.history = History(context)
        self.changes = Changes(context)
        self.bulk = Bulk(context)
        self.tables = TableExport(context, self.history)
        self.transactions = Transactions(context)
        point_runner = None if points is None else PointRunner(points)
        if point_runner is not None:
            runner.on_close(point_runner.close)
        self.series = Series(context, point_runner)
        self.portable = Portable(context, self.history, point_runner, scratch)
        self.keeping = Keeping(context, self.history, point_runner)
        self.telemetry = Telemetry(context, self.series)
        is_hosted = host is not None
        self.standings = Standings(context, hosted=is_hosted)
        self.event_routes = EventRoutes(context, endpoints, hosted=is_hosted)
        self.event_streams = EventStreams(context)
        locations = locations or build_locations(settings.jobs)
        locations = locations.extend(UploadLocation(runner))
        self.uploads = Uploads(context)
        self.import_jobs = ImportJobs(context, locations)
        self.delete_jobs = DeleteJobs(context)
        idle = _HOSTED_IDLE_SECONDS if is_hosted else None
        self.delivery = delivery = RouteKind(
            context, endpoints, hosted=is_hosted, idle_seconds=idle, graph=graph_id
        )
        computing = Computing(context, engine)
        self.derivations = Derivations(context, computing)
        self.workspaces = Workspaces(context)
        self.deriving = deriving = DerivationKind(context, computing, idle_seconds=idle)
        self.upkeep: BackgroundTask = OutboxKind(context)
        self.jobs = JobRunner(context, locations, run_apart, point_runner)
        self.background_tasks: tuple[BackgroundTask, ...] = (
            delivery,
            self.upkeep,
            self.jobs,
            UploadKind(context),
            deriving,
            *([IndexKind(context, index_upkeep)] if index_upkeep is not None else []),
            *([PointKind(point_runner)] if point_runner is not None else []),
            *([ingest(context, self.series, instruments)] if ingest is not None else []),
        )
        known = build_procedures(procedures)
        self.queries = Queries(context, engine, scratch, instruments, self.series, known)
        self.statements = Statements(context, engine, known, instruments)
        self.explicit = ExplicitTransactions(context, self.statements, engine, scratch)
        if engine is not None:
            runner.on_close(engine.close)
        if instruments is not None:
            for gauged in (self.queries, self.event_streams, delivery, deriving):
                instruments.watch(gauged)
            if point_runner is not None:
                instruments.watch(point_runner)
            instruments.watch_routes(delivery)
        self.overview = Overview(context, self.queries)
        self.neighborhoods = Neighborhoods(context)
        self.observation = Observation(context)
        self.triples = Triples(context, triples, scratch)
