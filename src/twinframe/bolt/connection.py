"""One client of the Bolt server: its login, statements, transactions and results.

SPEC: https://neo4j.com/docs/bolt/current/bolt/server-state/.
"""

from __future__ import annotations

import asyncio
import logging
import math
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import AsyncExitStack, asynccontextmanager, nullcontext
from dataclasses import dataclass
from typing import Final, Protocol, cast

from twinframe.access.gate import Gate
from twinframe.access.rates import CallerRates, Kind
from twinframe.bolt.bookmarks import check_bookmarks, render_bookmark
from twinframe.bolt.commands import SYSTEM, Surroundings, build_command, may_be_command
from twinframe.bolt.exchange import TokenExchange
from twinframe.bolt.failures import (
    EXPIRED,
    UNEXPECTED,
    Code,
    ReadOnly,
    build_failure,
    build_message,
    find_code,
)
from twinframe.bolt.framing import Version, build_chunks
from twinframe.bolt.graphs import Database, Databases, Ran
from twinframe.bolt.login import Login
from twinframe.bolt.notifications import ALL, NotificationFilter, build_position, read_filter
from twinframe.bolt.packstream import PackValue
from twinframe.bolt.plans import find_prefix
from twinframe.bolt.requests import (
    ALLOWED,
    Answer,
    Message,
    Request,
    State,
    parse_message,
    read_member,
)
from twinframe.bolt.results import RECORDS, Result, build_records
from twinframe.bolt.summaries import build_summary
from twinframe.bolt.transactions import Transaction
from twinframe.bolt.values import build_parameters, pack_value
from twinframe.errors import (
    BadRequest,
    GraphNotFound,
    InvalidArgument,
    QueryInvalid,
    QueryTimeout,
    TwinframeError,
    Unauthenticated,
)
from twinframe.graph.context.context import GraphContext
from twinframe.graph.queries.queries import QueryPage
from twinframe.graph.statements.statements import (
    Prepared,
    StatementResult,
    may_be_statement,
)
from twinframe.http.errors import build_status
from twinframe.model.values import JsonValue, Value
from twinframe.query.evaluate.limits import Interrupt
from twinframe.runtime.instruments.base import CURRENT_REQUEST
from twinframe.settings.bolt import BoltSettings
from twinframe.storage.base import GraphTransaction

_log: Final = logging.getLogger(__name__)

_LOGON_SINCE: Final = Version(5, 1)
_ROUTED_SINCE: Final = Version(5, 8)
_READ: Final = ("query/read",)
_ALL: Final = -1
_EVERY: Final = 2**31
_ROUTES_SECONDS: Final = 300
_MOST_RESULTS: Final = 100
_LONG: Final = 2_000


class Output(Protocol):
    """The way to the client."""

    def write(self, data: bytes) -> None:
        """Send bytes, without waiting."""

    async def drain(self) -> None:
        """Wait while the client takes nothing. Raises `ConnectionError`."""

    def allow_large(self) -> None:
        """Admit messages of the full size: the client has logged in."""


@dataclass(frozen=True, slots=True)
class BoltService:
    """What all connections share. A `gate` of None asks nobody for credentials.

    `origins` are those of pages that may connect from a browser. `exchange` is for clients that
    log in by id and secret. `observe` takes each statement
    that was run, with its database, for metrics.
    """

    settings: BoltSettings
    databases: Databases
    gate: Gate | None
    rates: CallerRates | None
    scopes: tuple[str, ...]
    server: str
    page_size: int
    origins: tuple[str, ...] = ()
    exchange: TokenExchange | None = None
    observe: Callable[[str, Ran], None] | None = None


class Connection:
    """The session of one client: takes its messages one by one, and answers each."""

    def __init__(
        self, service: BoltService, version: Version, output: Output, name: str, address: str
    ) -> None:
        """`name` tells connections apart in logs, `address` is the client's."""
        self._service = service
        self._version = version
        self._output = output
        self._name = name
        self._address = address
        self._login = Login(service.gate, service.scopes, name, address, service.exchange)
        self._state = State.NEGOTIATION
        self._results: dict[int, Result] = {}
        self._last = _ALL
        self._count = 0
        self._database = service.databases.home
        self._is_system = False
        self._text = ""
        self._is_read_only = False
        self._wanted: NotificationFilter = ALL
        self._wanted_now = ALL
        self._deadline = math.inf
        self._transaction: Transaction | None = None
        self._opened = AsyncExitStack()
        self._handlers: dict[Request, Callable[[Message], Awaitable[Mapping[str, object]]]] = {
            Request.HELLO: self._hello,
            Request.LOGON: self._logon,
            Request.LOGOFF: self._logoff,
            Request.RUN: self._run,
            Request.PULL: self._pull,
            Request.DISCARD: self._pull,
            Request.BEGIN: self._begin,
            Request.COMMIT: self._commit,
            Request.ROLLBACK: self._roll_back,
            Request.ROUTE: self._route,
            Request.TELEMETRY: self._take_telemetry,
        }

    @property
    def is_logged_in(self) -> bool:
        """Whether the client may run statements."""
        return self._state not in (State.NEGOTIATION, State.AUTHENTICATION, State.DEFUNCT)

    @property
    def is_open(self) -> bool:
        """Whether further messages are taken."""
        return self._state is not State.DEFUNCT

    @property
    def is_idle(self) -> bool:
        """Whether no result and no transaction is open."""
        return not self._results and self._transaction is None

    async def handle(self, data: bytes, *, interrupted: bool) -> None:
        """Answer a message; `interrupted` says that a RESET has come behind it."""
        try:
            message = parse_message(data)
        except BadRequest as error:
            await self.refuse(error)
            return
        request = message.request
        if request is Request.GOODBYE:
            self._state = State.DEFUNCT
        elif request is Request.RESET and self.is_logged_in:
            await self._reset()
        elif self._state is State.FAILED or (interrupted and self.is_logged_in):
            self._send(Answer.IGNORED)
        elif request not in ALLOWED.get(self._state, frozenset()):
            text = f"{request.name} cannot follow in the state {self._state.value}."
            await self.refuse(BadRequest(text))
        else:
            await self._answer(message)

    async def _answer(self, message: Message) -> None:
        try:
            metadata = await self._handlers[message.request](message)
        except Unauthenticated as error:
            code = EXPIRED if self.is_logged_in else find_code(error)
            await self.refuse(error, code)
        except TwinframeError as error:
            if self.is_logged_in:
                await self._fail(error)
            else:
                await self.refuse(error)
        except ConnectionError:
            raise
        except Exception:  # noqa: BLE001  (the outermost code of a request)
            _log.exception("A message of the connection %s failed.", self._name)
            await self._end()
            self._state = State.FAILED
            text = "The service failed; its log says why."
            self._send(Answer.FAILURE, build_failure(UNEXPECTED, text, self._version))
        else:
            self._send(Answer.SUCCESS, metadata)

    async def _fail(self, error: TwinframeError) -> None:
        if build_status(error) == 500:
            _log.error("%s: %s", error.code, error.message, exc_info=error)
        await self._end()
        self._state = State.FAILED
        position = None
        if isinstance(error, QueryInvalid):
            position = build_position(self._text, error.line, error.column)
        failure = build_failure(find_code(error), build_message(error), self._version, position)
        self._send(Answer.FAILURE, failure)

    async def refuse(self, error: TwinframeError, code: Code | None = None) -> None:
        """Answer with a failure, of the error's code by default, and close the connection."""
        await self._end()
        self._state = State.DEFUNCT
        failure = build_failure(code or find_code(error), build_message(error), self._version)
        self._send(Answer.FAILURE, failure)

    def _send(self, answer: Answer, metadata: Mapping[str, object] | None = None) -> None:
        buffer = bytearray((0xB0 if metadata is None else 0xB1, answer))
        if metadata is not None:
            pack_value(buffer, metadata)
        self._output.write(build_chunks(bytes(buffer)))

    def answer_interrupted(self) -> None:
        """Answer the message that a RESET has cancelled."""
        self._send(Answer.IGNORED)

    async def close(self) -> None:
        """Take back what is open."""
        self._state = State.DEFUNCT
        await self._end()

    # --- login ----------------------------------------------------------------------------------

    async def _hello(self, message: Message) -> Mapping[str, object]:
        extra = _read_map(message, 0)
        self._wanted = read_filter(extra)
        if self._version < _LOGON_SINCE:
            await self._log_in(extra)
        else:
            self._state = State.AUTHENTICATION
        hints = {"telemetry.enabled": False}
        if self._version >= _ROUTED_SINCE:
            # NOTE: any node answers for any database, so a driver may remember the one that a
            # session without a name has, instead of asking ROUTE for it in each.
            hints["ssr.enabled"] = True
        return {"server": self._service.server, "connection_id": self._name, "hints": hints}

    async def _logon(self, message: Message) -> Mapping[str, object]:
        await self._log_in(_read_map(message, 0))
        return {}

    async def _log_in(self, auth: Mapping[str, PackValue]) -> None:
        await self._login.log_in(auth)
        self._output.allow_large()
        self._state = State.READY

    async def _logoff(self, _message: Message) -> Mapping[str, object]:
        self._login.log_off()
        self._state = State.AUTHENTICATION
        return {}

    # --- statements -----------------------------------------------------------------------------

    async def _run(self, message: Message) -> Mapping[str, object]:
        text, given, extra = cast(
            "tuple[str, dict[str, PackValue], dict[str, PackValue]]", message.fields
        )
        started = time.perf_counter()
        self._text = text
        parameters: Mapping[str, Value] = build_parameters(given)
        transaction = self._transaction
        number = self._count if transaction is not None else 0
        self._count += 1
        CURRENT_REQUEST.set(f"{self._name}-{self._count}")
        if transaction is None:
            await self._enter(extra)
        elif len(self._results) >= _MOST_RESULTS:
            raise InvalidArgument(
                f"A transaction has at most {_MOST_RESULTS} open results. Take or discard some."
            )
        if self._is_system or may_be_command(text):
            text, parameters = await self._read_command(text, parameters)
        result = await self._run_noted(text, parameters, started)
        result.text = self._text
        self._results[number], self._last = result, number
        self._state = State.STREAMING if transaction is None else State.TX_STREAMING
        metadata: dict[str, object] = {
            "fields": list(result.columns),
            "t_first": int((time.perf_counter() - started) * 1000),
        }
        if transaction is not None:
            metadata["qid"] = number
        elif self._version >= _ROUTED_SINCE:
            metadata["db"] = self._shown_database
        return metadata

    @property
    def _shown_database(self) -> str:
        return SYSTEM if self._is_system else self._database

    async def _read_command(
        self, text: str, parameters: Mapping[str, Value]
    ) -> tuple[str, Mapping[str, Value]]:
        """Return the query that answers a command, or the text if it is none."""
        caller = await self._login.identify("RUN")
        own, databases = self._service.settings, self._service.databases

        async def find_graph(name: str) -> bool:
            try:
                async with databases.use(name, caller, self._login.build_info("RUN")):
                    return True
            except GraphNotFound:
                return False

        user = "" if caller is None else caller.shown
        address = own.advertised or own.bind
        around = Surroundings(databases.home, address, user, find_graph)
        command = await build_command(text, parameters, around)
        if command is not None:
            return command
        if self._is_system:
            raise InvalidArgument(
                f"The database {SYSTEM!r} has no graph and answers SHOW alone. Open the session "
                f"with another database, such as {databases.home!r}, or without one."
            )
        return text, parameters

    async def _run_noted(
        self, text: str, parameters: Mapping[str, Value], started: float
    ) -> Result:
        """Run a statement, and note it for its graph and the metrics."""
        caller = await self._login.identify("RUN")
        info = self._login.build_info("RUN")
        if self._transaction is None:
            used = self._service.databases.use(self._database, caller, info)
        else:
            used = nullcontext(self._transaction.database)
        async with used as database:
            status, charge, writes = 200, 0.0, False
            interrupt = Interrupt(self._deadline)
            try:
                prepared = await self._prepare(database, text, parameters, interrupt)
                writes = prepared is not None and prepared.writes
                needs = _READ if prepared is None else prepared.needs or _READ
                if self._service.rates is not None:
                    kind = Kind.BULK if writes else Kind.QUERY
                    self._service.rates.spend(kind, caller, self._address)
                await self._login.authorize(database, caller, needs)
                if writes:
                    self._check_mode()
                result = await self._open(database, text, parameters, prepared)
                if result.plan is None and (member := find_prefix(text)):
                    result.note_plan(member)
                charge = result.charge
            except TwinframeError as error:
                status = build_status(error)
                raise
            except BaseException:
                interrupt.set()  # a write that has begun does not end with what waits for it
                status = 500
                raise
            finally:
                seconds = time.perf_counter() - started
                ran = Ran(writes, status, seconds, charge, database.caller or caller, info)
                database.note(ran)
                if self._service.observe is not None:
                    self._service.observe(database.name, ran)
        return result

    def _check_mode(self) -> None:
        if self._is_read_only:
            raise ReadOnly

    async def _prepare(
        self,
        database: Database,
        text: str,
        parameters: Mapping[str, Value],
        interrupt: Interrupt,
    ) -> Prepared | None:
        """Return the statement if the text is to run as one; None for a query."""
        in_write = self._transaction is not None and self._transaction.writes
        if not in_write and not may_be_statement(text):
            return None
        open_statement = database.graph.statements.open
        prepared = await open_statement(text, parameters, is_typed=True, interrupt=interrupt)
        return prepared if in_write or not prepared.is_query else None

    async def _open(
        self,
        database: Database,
        text: str,
        parameters: Mapping[str, Value],
        prepared: Prepared | None,
    ) -> Result:
        given = cast("Mapping[str, JsonValue]", parameters)
        size, transaction = self._service.page_size, self._transaction
        if transaction is not None:
            if prepared is not None:
                return await transaction.run_statement(prepared)
            return await transaction.run_query(text, given, size)
        if prepared is not None:
            return await self._run_statement(database, prepared)
        queries = database.graph.queries
        page = queries.run_at_once(text, given, size, RECORDS)
        if page is None:
            async with self._limit_time():
                page = await queries.run(text, given, None, size, form=RECORDS)
        return Result.of_page(page, self._read_page)

    async def _run_statement(self, database: Database, prepared: Prepared) -> Result:
        """Run a statement in a transaction of its own."""
        statements = database.graph.statements
        if prepared.prefix:
            return Result.of_explained(await statements.run(prepared))
        if prepared.in_transactions or not prepared.writes:
            found = await statements.run(prepared)
            return Result.of_statement(found, build_records(found), writes=prepared.writes)

        def write(
            transaction: GraphTransaction, context: GraphContext
        ) -> tuple[StatementResult, list[bytes]]:
            found = statements.apply(prepared, transaction, context)
            return found, build_records(found)

        with statements.note_run(prepared) as note:
            (found, messages), position = await statements.write(write)
            note(found)
        result = Result.of_statement(found, messages, writes=True)
        result.bookmark = render_bookmark(database.name, position)
        return result

    async def _read_page(self, token: str) -> QueryPage:
        caller = await self._login.identify("PULL")
        info = self._login.build_info("PULL")
        async with self._service.databases.use(self._database, caller, info) as database:
            await self._login.authorize(database, caller, _READ)
            async with self._limit_time():
                return await database.graph.queries.run(None, None, token, form=RECORDS)

    @asynccontextmanager
    async def _limit_time(self) -> AsyncIterator[None]:
        """Interrupt what reads when the time of its transaction is over. Raises `QueryTimeout`."""
        if self._deadline == math.inf:
            yield
            return
        try:
            async with asyncio.timeout(self._deadline - time.monotonic()):
                yield
        except TimeoutError:
            raise QueryTimeout("The transaction ran longer than its client allowed.") from None

    async def _pull(self, message: Message) -> Mapping[str, object]:
        extra = _read_map(message, 0)
        most = read_member(extra, "n", int, _ALL)
        number = read_member(extra, "qid", int, _ALL)
        if most == 0 or most < _ALL:
            raise BadRequest("'n' must be a number of rows, or -1 for all.")
        number = self._last if number == _ALL else number
        result = self._results.get(number)
        if result is None:
            raise BadRequest(f"'qid' {number} names no open result of this transaction.")
        left = _EVERY if most == _ALL else most
        if message.request is Request.DISCARD:
            if most == _ALL:
                result.close()
            await result.skip(left)
        else:
            while result.has_more and left > 0:
                if result.has_to_wait:
                    await self._output.drain()
                count, data = await result.take(left)
                left -= count
                self._output.write(data)
                if result.has_more:
                    await self._output.drain()
        if result.has_more:
            return {"has_more": True}
        del self._results[number]
        if not self._results:
            self._state = State.READY if self._transaction is None else State.TX_READY
        return build_summary(result, self._shown_database, self._version, self._wanted_now)

    # --- transactions ---------------------------------------------------------------------------

    async def _enter(self, extra: Mapping[str, PackValue]) -> None:
        """Read what RUN and BEGIN say of their transaction, and wait for its bookmarks."""
        if extra.get("imp_user") is not None:
            raise InvalidArgument("Statements run as the caller who logged in; leave imp_user out.")
        self._database, self._is_system = self._find_database(extra)
        self._is_read_only = read_member(extra, "mode", str, "w") == "r"
        self._wanted_now = read_filter(extra, self._wanted)
        asked = read_member(extra, "tx_timeout", int, 0)
        if asked < 0:
            raise InvalidArgument("'tx_timeout' is a number of milliseconds; 0 is no limit.")
        self._deadline = time.monotonic() + asked / 1000 if asked else math.inf
        bookmarks = read_member(extra, "bookmarks", list, [])
        position = check_bookmarks(bookmarks, self._database)
        if position is not None:
            caller = await self._login.identify("RUN")
            info = self._login.build_info("RUN")
            async with self._service.databases.use(self._database, caller, info) as database:
                await self._login.authorize(database, caller, _READ)
                await position.wait(database.graph.statements)

    async def _begin(self, message: Message) -> Mapping[str, object]:
        extra = _read_map(message, 0)
        await self._enter(extra)
        settings = self._service.settings
        longest = time.monotonic() + settings.transaction_timeout
        self._deadline = min(self._deadline, longest)
        caller = await self._login.identify("BEGIN")
        info = self._login.build_info("BEGIN")
        async with AsyncExitStack() as opened:
            used = self._service.databases.use(self._database, caller, info)
            database = await opened.enter_async_context(used)
            await self._login.authorize(database, caller, _READ)
            self._transaction = Transaction(database, self._deadline, settings.write_hold)
            self._opened = opened.pop_all()
        self._count = 0
        self._state = State.TX_READY
        return {"db": self._shown_database}

    async def _commit(self, _message: Message) -> Mapping[str, object]:
        transaction = cast("Transaction", self._transaction)
        self._results.clear()
        position = await transaction.commit()
        await self._end()
        self._state = State.READY
        return {} if position is None else {"bookmark": render_bookmark(self._database, position)}

    async def _roll_back(self, _message: Message) -> Mapping[str, object]:
        await self._end()
        self._state = State.READY
        return {}

    async def _end(self) -> None:
        """Take back the open transaction, if there is one."""
        self._results.clear()
        transaction, self._transaction = self._transaction, None
        if transaction is not None:
            try:
                await transaction.discard()
            finally:
                await self._opened.aclose()

    async def _reset(self) -> None:
        await self._end()
        self._state = State.READY
        self._send(Answer.SUCCESS, {})

    # --- the rest -------------------------------------------------------------------------------

    async def _route(self, message: Message) -> Mapping[str, object]:
        context = _read_map(message, 0)
        extra = cast("dict[str, PackValue]", message.fields[2])
        name, is_system = self._find_database(extra)
        caller = await self._login.identify("ROUTE")
        info = self._login.build_info("ROUTE")
        async with self._service.databases.use(name, caller, info):
            pass
        own = self._service.settings
        address = own.advertised or read_member(context, "address", str, "") or own.bind
        # NOTE: each node reads and writes. Drivers leave out one that does not answer.
        addresses = list(own.nodes) or [address]
        servers = [{"addresses": addresses, "role": role} for role in ("WRITE", "READ", "ROUTE")]
        shown = SYSTEM if is_system else name
        return {"rt": {"ttl": _ROUTES_SECONDS, "db": shown, "servers": servers}}

    def _find_database(self, extra: Mapping[str, PackValue]) -> tuple[str, bool]:
        """Return the name of the graph that a message means, and whether it means `system`."""
        home = self._service.databases.home
        name = read_member(extra, "db", str, "") or home
        return (home, True) if name == SYSTEM != home else (name, False)

    async def _take_telemetry(self, _message: Message) -> Mapping[str, object]:
        return {}


def _read_map(message: Message, at: int) -> dict[str, PackValue]:
    return cast("dict[str, PackValue]", message.fields[at])
