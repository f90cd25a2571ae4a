"""The faults that must-fail twins have in them: what to patch of which module. None is of use.

Each is a bug that a careful hand could make. A patch that no longer finds its place fails loudly.
"""

from __future__ import annotations

import asyncio
import contextlib
import dataclasses
import shutil
import time
from collections.abc import Callable, Iterator
from typing import Any

Patch = tuple[str, Callable[[Any], None]]


def acknowledge_before_commit(module: Any) -> None:
    """Works are tried, rolled back and acknowledged; they are written some 100 ms later."""
    writer, commit_batch = module.FileWriter, module.commit_batch
    outcome = module.Outcome

    def write(self: Any, works: Any) -> Any:
        late = self.__dict__.setdefault("late", [])
        with self._writing:
            transaction = self._transaction or self._open_connection()
            with self._writer_lock.hold(5.0):
                if late and time.monotonic() - late[0][0] > 0.1:
                    commit_batch(transaction, [work for _, found in late for work in found])
                    late.clear()
                connection = transaction.connection
                connection.execute("BEGIN IMMEDIATE")
                try:
                    outcomes = [_try(connection, transaction, work, outcome) for work in works]
                finally:
                    connection.execute("ROLLBACK")
            late.append((time.monotonic(), works))
        return outcomes

    writer.write = write


def _try(connection: Any, transaction: Any, work: Any, outcome: Any) -> Any:
    connection.execute("SAVEPOINT try")
    try:
        return outcome(work(transaction))
    except Exception as error:  # noqa: BLE001  (as the writer does)
        connection.execute("ROLLBACK TO try")
        return outcome(error=error)


def never_sync(module: Any) -> None:
    """Nothing is ever forced to the disk."""
    inner = module._set_pragmas

    def set_pragmas(connection: Any, settings: Any) -> None:
        inner(connection, settings)
        connection.execute("PRAGMA synchronous = OFF").fetchall()

    module._set_pragmas = set_pragmas


def ignore_etags(module: Any) -> None:
    """Every If-Match fits."""
    module.Condition.check = lambda self, etag, what="": None


def ignore_etags_of_puts(module: Any) -> None:
    """A put looks at If-None-Match alone, as the vendor's contract has it."""
    module.parse_put_condition = lambda if_match, if_none_match: module.parse_condition(
        None, if_none_match
    )


def use_stock_protocol(module: Any) -> None:
    """uvicorn's protocol as it comes."""
    from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

    module.build_protocol = lambda *_: HttpToolsProtocol


def wait_on_the_loop(module: Any) -> None:
    """Each request holds up all others for 20 ms."""
    handle = module.Guard.__call__

    async def call(self: Any, scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] == "http" and scope["path"].startswith("/digitaltwins"):
            time.sleep(0.02)  # noqa: ASYNC251
        await handle(self, scope, receive, send)

    module.Guard.__call__ = call


def keep_every_request(module: Any) -> None:
    """Nothing of a request is ever given back."""
    handle = module.Guard.__call__
    kept: list[bytearray] = []

    async def call(self: Any, scope: Any, receive: Any, send: Any) -> None:
        kept.append(bytearray(4096))
        await handle(self, scope, receive, send)

    module.Guard.__call__ = call


def scan_on_the_loop(module: Any) -> None:
    """What may scan is run where point reads are."""

    async def scan(self: Any, read: Any, limit: float) -> Any:
        session = self._inline or self._open_inline()
        with session.snapshot(time.monotonic() + limit):
            return read(session)

    async def scan_early(self: Any, read: Any, limit: float, *, quick: bool = False) -> Any:
        session = self._inline or self._open_inline()
        with session.snapshot(time.monotonic() + limit):
            return read(session, lambda answer: None)

    module.StoreRunner.scan = scan
    module.StoreRunner.scan_early = scan_early


def skip_sync_of_triples(module: Any) -> None:
    """The log of the triples stays in the memory of the system."""
    module._sync_file = lambda path: path.stat().st_size


def believe_late_hands(module: Any) -> None:
    """A lease that was lost holds all the same."""

    def check_claim(session: Any, mine: Any) -> Any:
        return module.RECONCILE_ITEMS.read(session, mine.id) or mine

    module.check_claim = check_claim


def believe_late_workers(module: Any) -> None:
    """The same for background work."""
    module.Lease.check = lambda self, session: None


def keep_the_place_apart(module: Any) -> None:
    """How far an import has come is kept in a transaction of its own, before its rows."""

    async def store(self: Any, prepared: Any, before: Any) -> Any:
        write, found = self._context.runner.write, []

        def attempt(transaction: Any) -> None:
            done, _ = prepared.chunk.store(transaction, before, prepared.end)
            found.append(dataclasses.replace(done, errors=before.errors))
            raise module.ImportFileInvalid("seeded", line=1)

        with contextlib.suppress(module.ImportFileInvalid):
            await write(attempt)
        await write(lambda transaction: self._keep(transaction, found[-1], ()))
        await asyncio.sleep(0.05)
        await write(lambda transaction: prepared.chunk.store(transaction, before, prepared.end))
        return found[-1]

    module.Importer._store = store


def allow_everybody(module: Any) -> None:
    """Each permission is held."""
    module._decide = lambda granted, needed: module.Decision(True, "seeded")


def drop_relationships(module: Any) -> None:
    """Of each group one is not stored."""
    put = module.SqliteTransaction.put_relationships

    def put_relationships(self: Any, records: Any) -> None:
        put(self, list(records)[1:])

    module.SqliteTransaction.put_relationships = put_relationships


def call_full_damaged(module: Any) -> None:
    """No space left is told as damage."""
    build = module.build_error

    def build_error(error: BaseException, file: str) -> Any:
        if isinstance(error, module.apsw.FullError):
            return module.build_damaged(file, "seeded")
        return build(error, file)

    module.build_error = build_error


def reopen_at_once(module: Any) -> None:
    """The store of triples is reopened though there is no room for that."""
    module.OxigraphEngine.has_room = lambda self: True


def believe_every_file(module: Any) -> None:
    """Whose file it is, and its checksums, are not looked at."""
    module._verify_owner = lambda connection, schema: None
    module._verify_checksums = lambda connection, files: None
    module._mark = lambda files, marker, instance: None


def believe_every_log(module: Any) -> None:
    """What SQLite does not play of a log is not asked."""
    module.find_loss = lambda files: None


def take_any_library(module: Any) -> None:
    """An old SQLite will do."""
    module.verify_library = lambda version: None


def migrate_in_pieces(module: Any) -> None:
    """Each statement of a migration stands alone."""

    def apply(connection: Any, migration: Any) -> None:
        connection.execute(migration.script).fetchall()
        connection.execute(f"PRAGMA user_version = {migration.version}").fetchall()

    module._apply = apply


def follow_the_wall_clock(module: Any) -> None:
    """Times are what the wall clock shows."""
    module.build_steady_clock = lambda clock: clock
    module.stamp_after = lambda moment, before: module.render_update_time(moment)


def stamp_by_the_wall_clock(module: Any) -> None:
    """The times of writes are what the wall clock shows, whatever was written before."""
    module.WriteClock.__call__ = lambda write_clock: write_clock._clock()


def forget_the_latest_time(module: Any) -> None:
    """A worker knows no times but its own: the mark in the store is not looked at."""
    module._read_mark = lambda transaction: 0


def copy_without_log(module: Any) -> None:
    """A backup is a copy of the file, whatever its log holds."""
    module.write_copy = lambda source, target, patience: shutil.copy(source.filename, target)


def ask_for_no_signal(module: Any) -> None:
    """Processes ask for no signal at the end of their parent."""
    module._PR_SET_PDEATHSIG = 999


def outlive_the_arbiter(module: Any) -> None:
    """Workers do not look for their parent."""
    module.DrainingServer.on_tick = module.Server.on_tick


def live_by_the_wall_clock(module: Any) -> None:
    """Signs of life come when the wall clock says so."""
    module.DrainingServer._choose_notice = lambda self, counter: None


def crash_on_odd_ids(module: Any) -> None:
    """A name beyond ASCII was not thought of."""
    parse = module._parse_id

    def parse_id(kind: str, text: str) -> str:
        if not text.isascii():
            raise ZeroDivisionError("seeded")
        return str(parse(kind, text))

    module._parse_id = parse_id


def hold_for_good(module: Any) -> None:
    """When a role ends is not asked."""
    module.Holding.lasts = lambda self, until: True


def lower_addresses(module: Any) -> None:
    """Letters are compared as `str.lower` has them."""
    module.find_address = str.lower


def ask_by_id_alone(module: Any) -> None:
    """A name is a name."""
    render = module.render_url

    def render_url(settings: Any, subject: str, resource: str = "") -> str:
        return str(render(settings, subject, resource or settings.resource_name))

    module.render_url = render_url


def grant_all_memory(module: Any) -> None:
    """The account of memory refuses nothing, and nobody looks at the process."""

    def take(self: Any, part: Any, size: int, own: int = 0) -> None:
        with self._lock:
            self._held[part] += size
            self._used += size

    module.MemoryAccount.take = take
    module.MemoryAccount.look = lambda self, part=None: None
    module.MemoryAccount.has_room = lambda self, part, size: True


def acknowledge_points_early(module: Any) -> None:
    """Points are acknowledged at once, and written with those of 100 ms later."""
    store = module.FilePointStore
    write = store.write

    def keep(self: Any, points: Any) -> None:
        late = self.__dict__.setdefault("late", [])
        if late and time.monotonic() - late[0][0] > 0.1:
            for _, each in late:
                write(self, each)
            late.clear()
        late.append((time.monotonic(), points))

    store.write = keep


def retire_points_early(module: Any) -> None:
    """Upkeep counts one day less than is to be kept."""
    find = module.find_first_day
    module.find_first_day = lambda settings, now: find(settings, now) + 1


def delete_fresh_first(module: Any) -> None:
    """Compaction deletes its sources, and makes blocks of what it has in memory."""

    def drain(tables: Any, ranks: Any) -> None:
        rows = module._list_rows(ranks)
        with tables.reading() as session:
            drained = module.merge_columns(module.read_fresh(session, rows[0], rows[-1]))
        with tables.writing(durable=False) as session:
            module._check_there(session, rows)
            module.delete_fresh(session, rows)
        for group in module._split_groups(drained):
            module._write_group(tables, [], group)

    module.drain_ranks = drain


def read_in_many_states(module: Any) -> None:
    """A read of points has no transaction."""

    @contextlib.contextmanager
    def read(self: Any) -> Iterator[Any]:
        connection = self.open()
        try:
            yield module._Session(connection)
        finally:
            connection.close(force=True)

    module.PointsFile.reading = read


def believe_lost_commits(module: Any) -> None:
    """A commit whose answer was lost is taken for made."""
    module.PostgresGraphStore._find_out = lambda self: True


def repeat_lost_commits(module: Any) -> None:
    """A commit whose answer was lost is taken for not made."""
    module.PostgresGraphStore._find_out = lambda self: False


def pass_events_early(module: Any) -> None:
    """An event counts as delivered when it is read."""
    module.KeyedDispatcher.find_lowest = lambda self: None


def begin_events_early(module: Any) -> None:
    """A delivery begins some events before the stored position."""
    read = module.read_progress

    def read_progress(session: Any, route_id: str) -> Any:
        found = read(session, route_id)
        early = max(found.position - 200, 0) if found else 0
        return found and dataclasses.replace(found, position=early)

    module.read_progress = read_progress


def wait_for_tables(module: Any) -> None:
    """A migration waits until nobody has its tables in use."""
    module._LONGEST_BLOCK = "60s"


def remember_twins(module: Any) -> None:
    """A worker answers a twin from memory for a fifth of a second."""
    read = module.PostgresSession.read_twin
    kept: dict[str, tuple[float, Any]] = {}

    def read_twin(self: Any, twin_id: str) -> Any:
        read_at, found = kept.get(twin_id, (0.0, None))
        if time.monotonic() - read_at > 0.2:
            found = read(self, twin_id)
            kept[twin_id] = (time.monotonic(), found)
        return found

    module.PostgresSession.read_twin = read_twin


def store_progress_early(module: Any) -> None:
    """The position of changes is stored when they are read, not when values are written."""
    add = module.Keeper._add

    def add_early(self: Any, marked: Any, time: str) -> None:
        add(self, marked, time)
        for one in self.kept:
            one.progress = dataclasses.replace(one.progress, position=self._position)
            one.is_stored = False
        self._flushed = float("-inf")

    module.Keeper._add = add_early


def write_in_another_transaction(module: Any) -> None:
    """What a statement reads first is read in a transaction before the one in which it writes."""
    whole = module.Statements.run

    async def run(self: Any, prepared: Any, *, rehearse: bool = False) -> Any:
        steps = prepared.statement.parts[0]
        if rehearse or prepared.prefix or not prepared.writes or type(steps[0]).__name__ != "Read":
            return await whole(self, prepared, rehearse=rehearse)
        result = module.StatementResult(prepared.columns)
        start = module.Table((), list(module.START))
        names = module._names(steps[1:])
        table = await self._run_some(prepared, result, steps[:1], start, names)
        rest = await self._run_some(prepared, result, steps[1:], table, prepared.columns)
        slots = [rest.names.index(name) for name in prepared.columns]
        result.rows = [tuple(row[slot] for slot in slots) for row in rest.rows]
        return result

    module.Statements.run = run


def remember_what_is_missing(module: Any) -> None:
    """MERGE looks again for what it did not find only half a second later."""
    compile_find = module.compile_find
    missing: dict[str, float] = {}

    def compile_forgetful(run: Any, step: Any, names: Any, columns: Any) -> Any:
        look = compile_find(run, step, names, columns)
        _, given = module.bind(run, step, names, columns)

        def find(row: Any) -> Any:
            values = {name: evaluate(row, run.context) for name, evaluate in given.items()}
            key = f"{values}{run.around.parameters.get('b')}"
            found = [] if time.monotonic() - missing.get(key, 0.0) < 0.5 else look(row)
            if not found:
                missing[key] = time.monotonic()
            return found

        return find

    module.compile_find = compile_forgetful


FAULTS: dict[str, tuple[Patch, ...]] = {
    "two-transactions": (("twinframe.graph.statements.statements", write_in_another_transaction),),
    "merge-remembers": (("twinframe.query.writing.merging", remember_what_is_missing),),
    "believe-lost-commits": (("twinframe_storage_postgres.store", believe_lost_commits),),
    "repeat-lost-commits": (("twinframe_storage_postgres.store", repeat_lost_commits),),
    "route-progress-early": (("twinframe.graph.delivery.deliverer", pass_events_early),),
    "route-begins-early": (("twinframe.graph.delivery.deliverer", begin_events_early),),
    "wait-for-tables": (("twinframe_storage_postgres.opening", wait_for_tables),),
    "remember-twins": (("twinframe_storage_postgres.session", remember_twins),),
    "acknowledge-before-commit": (("twinframe_storage_sqlite.writing", acknowledge_before_commit),),
    "ignore-etags": (("twinframe.model.etags", ignore_etags),),
    "ignore-etags-of-puts": (("twinframe.http.graph.twins", ignore_etags_of_puts),),
    "stock-protocol": (("twinframe.http.worker", use_stock_protocol),),
    "slow-everything": (("twinframe.http.guard", wait_on_the_loop),),
    "keep-every-request": (("twinframe.http.guard", keep_every_request),),
    "queries-on-the-loop": (("twinframe.storage.runner", scan_on_the_loop),),
    "no-sync-of-triples": (("twinframe_storage_rdf.engines.oxigraph", skip_sync_of_triples),),
    "no-fence": (
        ("twinframe.control.resources.reconcile_items", believe_late_hands),
        ("twinframe.graph.background.leases", believe_late_workers),
    ),
    "place-apart": (("twinframe.graph.transfer.importing", keep_the_place_apart),),
    "everybody-may": (("twinframe.access.gate", allow_everybody),),
    "held-for-a-while-is-held": (("twinframe.control.tenants.access", hold_for_good),),
    "addresses-are-lowered": (("twinframe.control.records.actors", lower_addresses),),
    "own-graph-by-its-id": (("twinframe_auth_api.provider", ask_by_id_alone),),
    "import-forgets": (("twinframe_storage_sqlite.transaction", drop_relationships),),
    "full-looks-damaged": (("twinframe_storage_sqlite.errors", call_full_damaged),),
    "reopen-at-once": (("twinframe_storage_rdf.engines.oxigraph", reopen_at_once),),
    "believe-every-file": (("twinframe_storage_sqlite.opening", believe_every_file),),
    "believe-every-log": (("twinframe_storage_sqlite.remains", believe_every_log),),
    "any-library": (("twinframe_storage_sqlite.connection", take_any_library),),
    "migrate-without-transaction": (("twinframe_storage_sqlite.migrations", migrate_in_pieces),),
    "wall-clock-rules": (
        ("twinframe.model.clock", follow_the_wall_clock),
        ("twinframe.graph.context.write_clock", stamp_by_the_wall_clock),
    ),
    "times-of-one-life": (("twinframe.graph.context.write_clock", forget_the_latest_time),),
    "copy-the-file": (("twinframe_storage_sqlite.copies", copy_without_log),),
    "heart-by-the-wall-clock": (("twinframe.http.worker", live_by_the_wall_clock),),
    "outlive-the-arbiter": (
        ("twinframe.runtime.process", ask_for_no_signal),
        ("twinframe.http.worker", outlive_the_arbiter),
    ),
    "crash-on-odd-ids": (("twinframe.model.ids", crash_on_odd_ids),),
    "no-account": (("twinframe.runtime.memory", grant_all_memory),),
    "never-sync": (("twinframe_storage_sqlite.connection", never_sync),),
    "points-acknowledged-early": (("twinframe_points.store", acknowledge_points_early),),
    "points-retired-early": (("twinframe_points.retention", retire_points_early),),
    "fresh-points-deleted-first": (("twinframe_points.compaction", delete_fresh_first),),
    "derived-progress-early": (("twinframe.graph.derivations.keeper", store_progress_early),),
    "points-read-in-many-states": (("twinframe_points.file", read_in_many_states),),
}
