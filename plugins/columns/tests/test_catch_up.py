"""A projection that followed the changes is the one that is built from the whole graph."""

from __future__ import annotations

import random
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any
from unittest.mock import patch

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from twinframe.errors import LimitExceeded
from twinframe.query.engine import CannotRun
from twinframe.query.language import parse_query
from twinframe.storage.base import (
    ChangeKind,
    GraphSession,
    GraphStore,
    GraphTransaction,
    ModelRecord,
    OutboxEvent,
    RelationshipRecord,
    TwinRecord,
)
from twinframe.storage.memory import MemoryStore
from twinframe.testing.contracts.query_generated import generated
from twinframe.testing.query_law import (
    MODELS,
    LawGraph,
    OrderedMemoryStore,
    QueryLaw,
    build_edge_document,
    build_twin_document,
)
from twinframe_columns import build as building
from twinframe_columns import kinds as k
from twinframe_columns.build import build_projection, order_labels
from twinframe_columns.catch_up import apply_changes, read_changes
from twinframe_columns.column import Column
from twinframe_columns.engine import ColumnPlan
from twinframe_columns.layout import read_projection, write_projection
from twinframe_columns.projection import ID, RELATIONSHIP_ID, Projection

IDS = ("a", "b", "ab", "é", "zz", "0")
NAMES = ("has", "feeds")

values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-3, 3)
    | st.sampled_from((2**53, 2**53 - 1, -(2**60)))
    | st.floats(allow_nan=False, allow_infinity=False, width=16)
    | st.sampled_from(("", "a", "ab", "b", "é", "\x00", "😀", "\uffff")),
    lambda inner: (
        st.lists(inner, max_size=2) | st.dictionaries(st.sampled_from("xyz"), inner, max_size=2)
    ),
    max_leaves=4,
)
contents = st.dictionaries(st.sampled_from(("x", "y", "s")), values, max_size=3)
twin_ids = st.sampled_from(IDS)
writes = st.one_of(
    st.tuples(st.just("put"), twin_ids, st.sampled_from(list(MODELS)), contents),
    st.tuples(st.just("delete"), twin_ids),
    st.tuples(
        st.just("link"), twin_ids, st.sampled_from(NAMES), twin_ids, st.sampled_from("12"), contents
    ),
    st.tuples(st.just("unlink"), twin_ids, st.sampled_from("12")),
)


class Writer:
    """Writes to a store as the service does: each change with its row in the outbox."""

    def __init__(self, store: GraphStore) -> None:
        self._store = store
        self.edges: dict[tuple[str, str], tuple[str, str]] = {}
        self.twins: set[str] = set()

    def write(self, write: Any) -> None:
        (outcome,) = self._store.write([lambda transaction: self._apply(transaction, *write)])
        if outcome.error is not None:
            raise outcome.error

    def _apply(self, transaction: GraphTransaction, verb: str, *rest: Any) -> None:
        match verb, *rest:
            case "put", twin, model, held:
                body = orjson.dumps(build_twin_document(1, (twin, model, held)))
                transaction.put_twin(TwinRecord(twin, model, 'W/"1"', body))
                self.twins.add(twin)
                note(transaction, ChangeKind.TWIN_UPDATED, twin)
            case "delete", twin:
                for source, edge in [key for key, ends in self.edges.items() if twin in ends]:
                    self._apply(transaction, "unlink", source, edge)
                if twin in self.twins:
                    transaction.delete_twin(twin)
                    self.twins.remove(twin)
                    note(transaction, ChangeKind.TWIN_DELETED, twin)
            case "link", source, name, target, edge, held if {source, target} <= self.twins:
                document = build_edge_document(1, (source, name, target, held))
                body = orjson.dumps({**document, "$relationshipId": edge})
                record = RelationshipRecord(source, edge, name, target, 'W/"1"', body)
                transaction.put_relationship(record)
                self.edges[source, edge] = source, target
                note(transaction, ChangeKind.RELATIONSHIP_UPDATED, source, edge)
            case "unlink", source, edge if (source, edge) in self.edges:
                transaction.delete_relationship(source, edge)
                del self.edges[source, edge]
                note(transaction, ChangeKind.RELATIONSHIP_DELETED, source, edge)
            case _:
                pass


def note(transaction: GraphTransaction, kind: ChangeKind, subject: str, edge: str = "") -> None:
    transaction.append_events([OutboxEvent(subject, b"{}", kind, edge)])


def open_store(store: GraphStore) -> GraphStore:
    store.open()

    def put(transaction: GraphTransaction) -> None:
        transaction.put_models(
            [ModelRecord(m, b"{}", b"{}", b"{}", up, (), "2026") for m, up in MODELS.items()]
        )

    (outcome,) = store.write([put])
    assert outcome.error is None
    return store


def build(session: GraphSession) -> Projection:
    return build_projection(
        session.read_event_bounds()[1],
        session.iterate_twins(),
        session.iterate_relationships(),
        order_labels(session),
    )


def read_value(column: Column, row: int) -> Any:
    kind = int(column.kinds[row])
    if kind in (k.INTEGER, k.FLOAT):
        assert column.numbers is not None
        return kind, float(column.numbers[row])
    if kind == k.STRING:
        assert column.codes is not None
        assert column.strings is not None
        return kind, column.strings.read(int(column.codes[row]))
    return kind, None


def describe(projection: Projection) -> tuple[Any, Any]:
    """What a projection says, in whatever order it has it."""
    names = {
        row: read_value(projection.columns[ID], row)[1]
        for row in range(projection.count)
        if projection.numbers[row] >= 0
    }
    twins = {
        name: (
            projection.models[projection.numbers[row]],
            {
                path: read_value(column, row)
                for path, column in projection.columns.items()
                if column.kinds[row] != k.NULL
            },
        )
        for row, name in names.items()
    }
    edges = set()
    for name, one in projection.edges.items():
        for number in range(one.count):
            if one.is_alive is None or one.is_alive[number]:
                held = {
                    path: read_value(column, number)
                    for path, column in one.columns.items()
                    if column.kinds[number] != k.NULL
                }
                ends = names[int(one.sources[number])], names[int(one.targets[number])]
                edges.add((name, ends, held.pop((RELATIONSHIP_ID,)), tuple(sorted(held.items()))))
    return twins, edges


@given(st.lists(writes, max_size=12), st.lists(st.lists(writes, max_size=5), max_size=4))
def test_following_the_changes_gives_what_building_anew_gives(
    tmp_path_factory: Any, before: list[Any], after: list[list[Any]]
) -> None:
    file: Path = tmp_path_factory.mktemp("columns") / "columns"
    store = open_store(MemoryStore())
    writer = Writer(store)
    for write in before:
        writer.write(write)
    with closing(store.session()) as session:
        write_projection(build(session), "this graph", file)
        with file.open("rb") as opened:
            projection = read_projection(opened, "this graph")
        assert describe(projection) == describe(build(session))
        for some in after:
            for write in some:
                writer.write(write)
            changes = read_changes(session, projection.position, 100)
            assert changes is not None
            apply_changes(projection, session, changes)
            fresh = build(session)
            assert describe(projection) == describe(fresh)
            for text in QUERIES:
                plan = ColumnPlan(parse_query(text, parameters=()).query)
                with suppress(CannotRun):
                    found = [plan.run(each, session, {}) for each in (projection, fresh)]
                    assert sorted(map(repr, found[0] or ())) == sorted(map(repr, found[1] or ())), (
                        text
                    )


QUERIES = (
    "MATCH (t:Room) RETURN t.$dtId AS i",
    "MATCH (t) WHERE t.$dtId STARTS WITH 'a' RETURN t.$dtId AS i",
    "MATCH (t)-[:has]->(u) RETURN t.$dtId AS t, u.$dtId AS u",
    "MATCH (t)<-[:has]-(u)-[:feeds]->(v) RETURN t.$dtId AS t, count(*) AS n",
)


# --- odd values under odd names -------------------------------------------------------------------

LONG = "x" * 70_000
TEXTS = (
    *("", "a", "ab", "b", "B", "é", "e\u0301", "\x00", "a\x00", "\uffff", "😀", "\ue000", "'", '"'),
    *("\\", "`", "%", "_", ".", "NaN", "nan", "Infinity", "-0", "0", "1", "1.0", "1e5", "null"),
    *("true", "İ", "ß", "ẞ", "ǅ", "\u2028", "\u00a0", " ", "\t", LONG, f"{LONG}y"),
)
NUMBERS = (
    *(0, 1, -1, 2, 3, 2**53 - 1, 2**53, 2**53 + 1, -(2**53), 2**63 - 1, -(2**63), 10**15),
    *(0.0, -0.0, 0.1, 0.5, 1.0, 2.5, -1.5, 1e308, -1e308, 5e-324, 2.0**53, 2.0**63, 1e22),
)
PLAIN = (0, 1, 2, -3, 7)
FLOATS = (0.5, 1.0, -2.25, 3.0)
NAMES = ("x", "y", "a.b", "q\"'\\", "", "é", "`", "x y", "$x"[1:] + "x", "m")
EDGE_NAMES = ("has", "feeds", "is part.of")

scalars = st.one_of(
    st.none(),
    st.booleans(),
    st.sampled_from(TEXTS),
    st.sampled_from(NUMBERS),
    st.sampled_from(PLAIN),
)
POOLS = (
    scalars,
    st.sampled_from(PLAIN),
    st.sampled_from(FLOATS),
    st.sampled_from((*PLAIN, *FLOATS, None)),
    st.sampled_from(TEXTS),
    st.sampled_from(("a", "ab", "b", None)),
    st.booleans(),
)


@st.composite
def histories(draw: st.DrawFn) -> tuple[list[Any], list[list[Any]]]:
    """Writes before and after the columns are made; members have values of one kind, or of any."""
    names = draw(st.lists(st.sampled_from(NAMES), min_size=1, max_size=3, unique=True))
    pools = {name: draw(st.sampled_from(POOLS)) for name in names}
    leaves = st.fixed_dictionaries({}, optional=pools)
    deep = st.fixed_dictionaries({}, optional={"d": leaves, **pools})
    contents = st.fixed_dictionaries(
        {}, optional={**pools, "m": st.one_of(leaves, deep, st.lists(scalars, max_size=2), scalars)}
    )
    ids = st.sampled_from(("a", "b", "ab", "é", "q'\"\\", "0"))
    models = st.sampled_from(list(MODELS))
    edges = st.tuples(
        st.just("link"), ids, st.sampled_from(EDGE_NAMES), ids, st.sampled_from("12"), contents
    )
    puts = st.tuples(st.just("put"), ids, models, contents)
    writes = st.one_of(
        *(puts, puts, edges, edges),
        st.tuples(st.just("delete"), ids),
        st.tuples(st.just("unlink"), ids, st.sampled_from("12")),
    )
    return draw(st.lists(st.one_of(puts, edges), max_size=14)), draw(
        st.lists(st.lists(writes, min_size=1, max_size=4), max_size=3)
    )


def quote(name: str) -> str:
    return "`" + name.replace("`", "``") + "`"


MEMBERS = (
    *(f"t.{quote(name)}" for name in NAMES),
    *(f"t.m.{quote(name)}" for name in NAMES[:5]),
    *("t.m.d.x", "t.m.d.m", "t.$dtId", "t['x']", "t.m['a.b']", "t.none", "t.m.none", "t.x.y"),
)
TESTS = (
    *("{a} = $v", "{a} <> $v", "{a} < $v", "{a} >= $v", "$v < {a}", "{a} IN $list", "{a} = {b}"),
    *("{a} < {b}", "{a} IS NULL", "{a} IS NOT NULL", "is_defined({a})", "{a} STARTS WITH $s"),
    *("{a} CONTAINS $s", "{a} ENDS WITH $s", "NOT {a} STARTS WITH $s", "{a} = true", "{a}"),
    *("{a} + 1 > {b}", "{a} * 2 = {b}", "{a} % 2 = 1", "{a} / {b} > 1", "{a} / 0 = 1", "-{a} < 1"),
    *("size({a}) > 1", "toUpper({a}) = $s", "{a} + {b} = $s", "abs({a}) > 1", "is_string({a})"),
    *(
        "is_number({a})",
        "toInteger({a}) = 1",
        "coalesce({a}, {b}) = $v",
        "NOT ({a} = $v OR {b} > 1)",
    ),
    *("{a} =~ 'a.*'", "{a} IN [1, 1.0, '1', null]", "{a} XOR {b}", "{a} < {b} AND {b} < $v"),
)
RESULTS = (
    *("count(*) AS n", "count({a}) AS n", "min({a}) AS a, max({b}) AS b", "sum({a}) AS s"),
    *("avg({a}) AS s", "{a} AS k, count(*) AS n", "{a} AS k, {b} AS l, count(*) AS n"),
    *(
        "DISTINCT {a} AS v",
        "count(DISTINCT {a}) AS n",
        "t.$dtId AS i, {a} AS v",
        "size(collect({a})) AS c",
    ),
    *("{a} AS v, t.$dtId AS i ORDER BY v, i", "t.$dtId AS i ORDER BY {a} DESC, i LIMIT 3"),
    *("stDev({a}) AS d", "{a} + {b} AS v", "{a} / {b} AS v", "toString({a}) AS v", "t"),
    *("coalesce({a}, $v) AS v", "CASE WHEN {a} = 1 THEN $s ELSE {b} END AS v"),
)
PATTERNS = (
    *(
        "(t)",
        "(t)",
        "(t:Room)",
        "(t)-[r]->(u)",
        "(t)-[r:has]-(u)",
        "(t)<-[r:`is part.of`|feeds]-()",
    ),
    *("(t)-[r]->(t)", "(t)-[r:has]->()-[q:feeds]->(t)", "(t)-[r]->(u)-[q]->(v)"),
)
TEMPLATES = (
    *("MATCH {p} WHERE {c} RETURN {r}", "MATCH {p} RETURN {r}"),
    "MATCH {p} WHERE {c} WITH DISTINCT t MATCH (t)-[r]->() WHERE r.x = 1 OR {c} RETURN {r}",
    "MATCH (t) WHERE {c} OPTIONAL MATCH (t)-[r:has]->(u) WHERE u.x > 0 RETURN count(r) AS k, {r}",
    "MATCH (t) WHERE EXISTS {{ (t)-[r]->(u) WHERE r.x = u.x }} AND {c} RETURN {r}",
)


def write_query(chance: random.Random) -> tuple[str, dict[str, Any]]:
    """Put a query and its parameters together."""
    pattern, template = chance.choice(PATTERNS), chance.choice(TEMPLATES)
    members = list(MEMBERS)
    if "[r" in template.format(p=pattern, c="", r=""):
        members += ["r.x", "r.m.x", "r.`a.b`", "r.$relationshipId"]
    names = {"a": chance.choice(members), "b": chance.choice(members)}
    if "DISTINCT t" in template or "OPTIONAL" in template or "EXISTS" in template:
        names = {"a": chance.choice(MEMBERS), "b": chance.choice(MEMBERS)}
    result = chance.choice(RESULTS)
    if "count(r)" in template and ("DISTINCT" in result[:8] or "ORDER" in result):
        result = "count(*) AS n"
    text = template.format(
        p=pattern, c=chance.choice(TESTS).format(**names), r=result.format(**names)
    )
    some = (*TEXTS, *NUMBERS, None, True, "\ud800", "a\udfff")
    parameters = {
        "v": chance.choice(some),
        "s": chance.choice(("a", "", "\ud83d", "😀", "e", None, LONG, "\x00")),
        "list": chance.sample(some, 4),
    }
    return text, parameters


@generated(60)
@given(histories(), st.randoms(use_true_random=False), st.booleans())
def test_columns_that_followed_odd_changes_answer_as_the_evaluator(
    columns_engine: Any,
    history: tuple[list[Any], list[list[Any]]],
    chance: random.Random,
    is_limited: bool,
) -> None:
    """With room for all members, or for some."""
    with patch.object(building, "LEAST_BYTES", 70_000 if is_limited else building.LEAST_BYTES):
        check_history(columns_engine, history, chance)


def test_members_have_no_column_when_they_would_take_too_much_memory(
    columns_engine: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Those with the fewest values have none; the store is asked for them."""
    monkeypatch.setattr(building, "LEAST_BYTES", 40_000)
    held = {"x": 1, "m": {"k": {"l": 2}}, "s": "a"}
    before: list[Any] = [("put", one, "dtmi:ex:Room;1", {"x": 1, "s": "a"}) for one in "abcdefgh"]
    before += [("put", "é", "dtmi:ex:Room;1", held), ("put", "zz", "dtmi:ex:Room;1", {"y": 1})]
    with open_followed(columns_engine, before) as (law, graph, writer, projection):
        assert projection.left_out == {("y",), ("m",), ("m", "k"), ("m", "k", "l")}
        assert ("x",) in projection.columns
        for some in ({"y": 2, "m": {"k": {"l": 3, "z": 4}}, "v": 5}, {"x": 3}):
            writer.write(("put", "a", "dtmi:ex:Room;1", some))
            changes = read_changes(graph.session, projection.position, 100)
            assert changes is not None
            apply_changes(projection, graph.session, changes)
            for member, is_answered in {"x": True, "s": True, "y": False, "m.k.l": False}.items():
                text = f"MATCH (t) WHERE t.{member} > 1 OR t.{member} = 'a' RETURN t.$dtId AS i"
                found = law.check(text, graph)
                assert (found.declined is None) == is_answered, member
            law.check("MATCH (t) WHERE t.v = 5 OR t.m.k.z = 4 RETURN t.$dtId AS i", graph)
    monkeypatch.setattr(building, "LEAST_BYTES", 10)
    monkeypatch.setattr(building, "_BYTES_A_TWIN", 1)
    with pytest.raises(building.TooLarge, match="more than 0"):
        open_followed(columns_engine, before).__enter__()


def check_history(
    engine: Any, history: tuple[list[Any], list[list[Any]]], chance: random.Random
) -> int:
    """Write, follow and ask, step by step; return how many questions columns answered."""
    before, after = history
    answered = 0
    with open_followed(engine, before) as (law, graph, writer, projection):
        for some in ([], *after):
            for write in some:
                writer.write(write)
            changes = read_changes(graph.session, projection.position, 100)
            assert changes is not None
            apply_changes(projection, graph.session, changes)
            for _ in range(6):
                text, parameters = write_query(chance)
                with suppress(LimitExceeded):  # half a character in a result
                    found = law.check(text, graph, parameters, lenient=True)
                    answered += found.declined is None
    return answered


@contextmanager
def open_followed(
    engine: Any, before: list[Any]
) -> Iterator[tuple[QueryLaw, LawGraph, Writer, Projection]]:
    """A graph after some writes, with columns that were read from a file and can follow it."""
    store = open_store(OrderedMemoryStore())
    writer = Writer(store)
    for write in before:
        writer.write(write)
    with TemporaryDirectory() as directory, closing(store.session()) as session:
        path = Path(directory) / "columns"
        write_projection(build(session), "key", path)
        with path.open("rb") as file:
            projection = read_projection(file, "key")
        engine.projections[id(session)] = projection
        graph = LawGraph(session, session)
        yield QueryLaw(engine, engine.open_built), graph, writer, projection
        del engine.projections[id(session)]
    store.close()


def test_what_a_file_holds_is_read_back_to_the_null(columns_engine: Any) -> None:
    """JSON's null, which is there, and half a character, which only a query can have."""
    held: list[Any] = [{"x": None, "s": "\ud7ff"}, {"s": "é"}, {"x": "a"}]
    before = [("put", one, "dtmi:ex:Room;1", each) for one, each in zip("abé", held, strict=True)]
    with open_followed(columns_engine, before) as (law, graph, _, projection):
        texts = {
            "MATCH (t) WHERE is_defined(t.x) RETURN t.$dtId AS i": 2,
            "MATCH (t) WHERE t.s < $v RETURN t.$dtId AS i": 2,
            "MATCH (t) WHERE t.s = $v OR t.x = $v OR t.x IN [$v, 1] RETURN t.$dtId AS i": 0,
            "MATCH (t) WHERE coalesce(t.x, $v) = $v RETURN t.$dtId AS i": 2,
        }
        for text, rows in texts.items():
            found = law.check(text, graph, {"v": "\ud800"})
            assert found.declined is not None or len(found.rows) == rows, text
        session = graph.session
        plan = ColumnPlan(
            parse_query("MATCH (t) RETURN coalesce(t.x, $v) AS v", parameters=("v",)).query
        )
        with pytest.raises(CannotRun, match="JSON"):
            plan.run_json(projection, session, {"v": "\ud800"})
