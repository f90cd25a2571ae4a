"""Patterns over the building, and over random graphs against a matcher that tries everything."""

from __future__ import annotations

from itertools import product
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.unit.query.evaluate.graphs import (
    MemoryReader,
    build_building,
    build_relationship,
    build_twin,
)
from tests.unit.query.evaluate.terms import (
    call,
    lit,
    node,
    op,
    pattern,
    prop,
    rel,
    rows,
    var,
)
from twinframe.errors import LimitExceeded, QueryInvalid
from twinframe.query.algebra import (
    Argument,
    Direction,
    GraphPattern,
    Limit,
    ListComprehension,
    Match,
    Operator,
    Parameter,
    PathKind,
    PathPattern,
    Project,
    Quantifier,
    QuantifierKind,
    Reduce,
    Subplan,
    SubplanKind,
    Unit,
    Unwind,
)
from twinframe.query.evaluate.limits import Limits

R1, R3, S1 = node("a", id="r1"), node("b", id="r3"), node("a", id="s1")


def match(*parts: Any, where: Any = None, source: Operator | None = None) -> Match:
    return Match(source or Unit(), pattern(*parts), where)


@pytest.mark.parametrize(
    ("plan", "columns", "expected"),
    [
        (match(node("n", "Sensor")), "n", ["s1", "s2"]),
        (match(node("n", "Room", area=12.5)), "n", ["r2"]),
        (match(node("n", value=1)), "n", []),
        (match(R1, node("b"), rel("r", "a", "b")), "b", ["r2", "s1", "s2"]),
        (match(R1, node("b"), rel("r", "a", "b", way="<-")), "b", ["floor", "r3"]),
        (match(R1, node("b"), rel("r", "a", "b", way="--")), "b",
         ["floor", "r2", "r3", "s1", "s2"]),
        (match(R1, node("b"), rel("r", "a", "b", "door", "has")), "b", ["r2", "s1", "s2"]),
        (match(R1, node("b", "Room"), rel("r", "a", "b")), "b", ["r2"]),
        (match(node("a"), node("b"), rel("r", "a", "b", width=2)), "a", ["r2"]),
        (match(node("a", id="nobody")), "a", []),
        (match(node("a"), where=op(prop("a", "$dtId"), "IN", ["r1", "s1", "r1", 7])), "a",
         ["r1", "s1"]),
        (match(node("a"), where=op("r2", "=", prop("a", "$dtId"))), "a", ["r2"]),
        (match(node("a"), rel("r", "a", "a")), "a", ["r2"]),
        (match(node("a"), rel("r", "a", "a", way="--")), "a", ["r2"]),
        (match(node("a", "Floor"), node("b", "Sensor")), "b", ["s1", "s2"]),
        (match(node("a", "Room"), node("b", name=prop("a", "name"))), "b", ["r1", "r2", "r3"]),
        (match(R1, node("b"), rel("r", "a", "b", "door", length=(1, 2))), "b", ["r2", "r3"]),
        (match(R1, node("b"), rel("r", "a", "b", "door", length=(0, 1))), "b", ["r1", "r2"]),
        (match(R1, node("b"), rel("r", "a", "b", "door", length=(1, None))), "b",
         ["r1", "r2", "r3"]),
        (match(R1, node("b"), rel("r", "a", "b", length=(1, 3), width=1)), "b", ["r2"]),
        (match(R1, node("b"), rel("r", "a", "b", "door", way="<-", length=(2, 2))), "b", ["r2"]),
        (match(R1, R3, rel("r", "a", "b", "door", length=(1, None))), "b", ["r3"]),
        (match(R1, node("b"), rel("r", "a", "b", length=(2, 1))), "b", []),
    ],
)  # fmt: skip
def test_a_pattern_finds_every_match(plan: Match, columns: str, expected: list[str]) -> None:
    assert sorted(one for (one,) in rows(plan, columns)) == expected


def test_no_relationship_is_used_twice_in_one_match_but_again_in_the_next() -> None:
    there_and_back = (
        R1, node("b"), node("c"), rel("r", "a", "b", "door"), rel("s", "c", "b", "door"),
    )  # fmt: skip
    assert rows(match(*there_and_back), "c") == []
    first = match(*there_and_back[:2], there_and_back[3])
    again = match(node("b"), node("c"), there_and_back[4], source=first)
    assert rows(again, "c") == [("r1",)]


def test_a_variable_length_part_shares_no_relationship_with_the_rest() -> None:
    parts = (
        R1, node("b"), node("c"),
        rel("r", "a", "b", "door"), rel("s", "b", "c", "door", length=(1, None)),
    )  # fmt: skip
    found = rows(match(*parts), "r", "s")
    assert sorted(found) == [("r1:d1", ["r2:d1"]), ("r1:d1", ["r2:d1", "r3:d1"])]


def test_a_list_of_relationships_runs_from_left_to_right_whichever_end_is_the_start() -> None:
    long = rel("r", "x", "b", "door", length=(2, 2))
    from_right = rows(match(node("x"), R3, long), "r", "x")
    from_left = rows(match(node("x", id="r1"), node("b"), long), "r", "b")
    assert from_right == [(["r1:d1", "r2:d1"], "r1")]
    assert from_left == [(["r1:d1", "r2:d1"], "r3")]


@pytest.mark.parametrize(
    ("kind", "way", "target", "expected"),
    [
        (PathKind.SHORTEST, "->", "r3", [["r1", "r2", "r3"]]),
        (PathKind.SHORTEST, "--", "r3", [["r1", "r3"]]),
        (PathKind.ALL_SHORTEST, "--", "s2", [["r1", "s2"]]),
        (PathKind.ALL_SHORTEST, "->", "floor", []),
        (PathKind.ALL, "--", "floor", [
            ["r1", "floor"], ["r1", "r2", "floor"], ["r1", "r3", "floor"],
            ["r1", "r2", "r3", "floor"], ["r1", "r3", "r2", "floor"],
            ["r1", "r2", "r2", "floor"], ["r1", "r2", "r2", "r3", "floor"],
            ["r1", "r3", "r2", "r2", "floor"],
        ]),
    ],
)  # fmt: skip
def test_paths_are_all_or_only_the_shortest(
    kind: PathKind, way: str, target: str, expected: list[list[str]]
) -> None:
    parts = (R1, node("b", id=target), PathPattern("p", ("a", "r", "b"), kind))
    crossing = rel("r", "a", "b", "door", "contains", "has", "mirror", way=way, length=(1, None))
    ids = ListComprehension("n", call("nodes", var("p")), None, prop("n", "$dtId"))
    found = [ids for (ids,) in rows(Project(match(*parts, crossing), (("ids", ids),)), "ids")]
    if kind is PathKind.ALL:
        found = [one for one in found if one.count("r1") == 1 and one.count("floor") == 1]
    assert sorted(found) == sorted(expected)


def test_all_shortest_paths_come_each_once() -> None:
    twins = [build_twin(one, "dtmi:t:N;1") for one in "abcd"]
    steps = [("a", "b"), ("a", "c"), ("b", "d"), ("c", "d"), ("b", "d")]
    crossed = [build_relationship(x, f"{i}", "t", y) for i, (x, y) in enumerate(steps)]
    path = PathPattern(None, ("x", "r", "y"), PathKind.ALL_SHORTEST)
    plan = match(node("x", id="a"), node("y", id="d"), rel("r", "x", "y", length=(1, None)), path)
    found = rows(plan, "r", graph=MemoryReader(twins, crossed))
    assert sorted(found) == [(["a:0", "b:2"],), (["a:0", "b:4"],), (["a:1", "c:3"],)]


def test_a_shortest_way_back_to_its_start_uses_each_relationship_once() -> None:
    path = PathPattern("p", ("a", "r", "a"), PathKind.SHORTEST)
    plan = match(R1, rel("r", "a", "a", "door", way="--", length=(1, None)), path)
    [(crossed,)] = rows(plan, "r")
    assert sorted(crossed) == ["r1:d1", "r2:d1", "r3:d1"]


def test_a_path_may_be_written_from_right_to_left() -> None:
    parts = (R1, R3, rel("r", "b", "a", "door", way="<-", length=(1, 5)))
    ids = ListComprehension("n", call("nodes", var("p")), None, prop("n", "$dtId"))
    plan = Project(match(*parts, PathPattern("p", ("a", "r", "b"))), (("ids", ids),))
    assert rows(plan, "ids") == [(["r1", "r2", "r3"],)]


def test_bound_nodes_and_relationships_restrict_a_later_match() -> None:
    first = match(R1, node("b"), rel("r", "a", "b", "door"))
    kept = Project(first, (("r", var("r")), ("a", var("a"))))
    for way, expected in (("->", ["r2"]), ("<-", []), ("--", ["r2"])):
        again = match(node("a"), node("c"), rel("r", "a", "c", way=way), source=kept)
        assert [one for (one,) in rows(again, "c")] == expected
    only_relationship = Project(first, (("r", var("r")),))
    either = match(node("x"), node("y"), rel("r", "x", "y", way="--"), source=only_relationship)
    assert sorted(rows(either, "x", "y")) == [("r1", "r2"), ("r2", "r1")]


def test_a_bound_null_matches_nothing_and_a_bound_scalar_is_an_error() -> None:
    null = Project(Unit(), (("a", lit(None)),))
    assert rows(match(node("a"), source=null), "a") == []
    assert rows(match(node("a"), node("b"), rel("r", "a", "b"), source=null), "a") == []
    with pytest.raises(QueryInvalid, match="Integer"):
        rows(match(node("a"), source=Project(Unit(), (("a", lit(1)),))), "a")


def test_optional_keeps_unmatched_rows_once_and_in_place() -> None:
    order = Unwind(Unit(), lit(["s1", "r1", "floor", "r2", "s2"]), "id")
    starts = match(node("a", id=var("id")), source=order)
    optional = Match(starts, pattern(node("a"), node("b"), rel("r", "a", "b", "has")), None, True)
    assert rows(optional, "a", "b", "r") == [
        ("s1", None, None),
        ("r1", "s1", "r1:h1"),
        ("r1", "s2", "r1:h2"),
        ("floor", None, None),
        ("r2", None, None),
        ("s2", None, None),
    ]


def test_the_predicate_of_an_optional_match_decides_what_a_match_is() -> None:
    optional = Match(
        match(node("a", "Room")),
        pattern(node("a"), node("b"), rel("r", "a", "b", "has")),
        op(prop("b", "value"), ">", 20),
        True,
    )
    assert rows(optional, "a", "b") == [("r1", "s1"), ("r2", None), ("r3", None)]


def test_an_optional_match_over_no_rows_gives_none_and_over_no_nodes_one() -> None:
    nothing = match(node("a", "Nobody"))
    assert rows(Match(nothing, pattern(node("b")), None, True), "a", "b") == []
    assert rows(Match(Unit(), pattern(node("a", "Nobody")), None, True), "a") == [(None,)]


INNER = op(var("t"), "=", prop("b", "$dtId"))
LATE = [
    Quantifier(QuantifierKind.ANY, "t", lit(["s1"]), INNER),
    op(call("size", ListComprehension("t", lit(["s1"]), INNER, None)), "=", 1),
    op(call("head", ListComprehension("t", lit(["s1"]), None, INNER)), "=", True),
    Reduce("found", lit(False), "t", lit(["s1"]), op(var("found"), "OR", INNER)),
    Subplan(
        SubplanKind.EXISTS,
        Match(Argument(("b",)), pattern(node("b"), node(" x"), rel(" y", "b", " x", "never"))),
    ),
]


@pytest.mark.parametrize("test", LATE)
def test_a_predicate_waits_for_what_it_reads_inside_of_lists_and_plans(test: Any) -> None:
    found = rows(match(R1, node("b"), rel("r", "a", "b", "has"), where=test), "b")
    assert found == ([] if isinstance(test, Subplan) else [("s1",)])


# --- how it reads -----------------------------------------------------------------------------


def test_an_id_is_sought_and_not_scanned_for() -> None:
    graph = build_building()
    parts = (node("x", "Room"), node("y", id=Parameter("id")), rel("r", "x", "y"))
    assert rows(match(*parts), "x", graph=graph, parameters={"id": "s1"}) == [("r1",)]
    assert graph.calls == ["read_nodes", "read_hops", "read_nodes"]


def test_nodes_that_nobody_looks_at_are_not_read() -> None:
    graph = build_building()
    parts = (R1, node(" b"), node(" c"), rel(" r", "a", " b"), rel(" s", " b", " c"))
    assert len(rows(match(*parts), "a", graph=graph)) == 2
    assert graph.calls[:2] == ["read_nodes", "read_hops"]
    assert graph.calls.count("read_nodes") == 1


def test_nodes_that_only_a_later_match_looks_at_are_read() -> None:
    first = match(R1, node("b"), rel("r", "a", "b", "has"))
    again = match(node("b", "Sensor"), source=first)
    assert len(rows(again, "a")) == 2


def test_a_limit_of_one_reads_little() -> None:
    twins = [build_twin(f"t{i}", "dtmi:t:N;1") for i in range(2000)]
    graph = MemoryReader(
        twins, [build_relationship("t0", f"{i}", "t", f"t{i}") for i in range(2000)]
    )
    plan = match(node("a", id="t0"), node("b"), rel("r", "a", "b"))
    assert rows(Limit(Project(plan, (("b", prop("b", "$dtId")),)), lit(1)), "b", graph=graph)
    assert len(graph.calls) == 3


# --- limits -----------------------------------------------------------------------------------


def build_clique(size: int) -> MemoryReader:
    names = [f"n{i}" for i in range(size)]
    pairs = [(one, other) for one, other in product(names, names) if one != other]
    return MemoryReader(
        [build_twin(name, "dtmi:t:N;1") for name in names],
        [build_relationship(one, f"to{other}", "t", other) for one, other in pairs],
    )


def test_an_unbounded_walk_stops_with_an_error_at_the_most_hops() -> None:
    plan = match(node("a", id="n0"), node("b"), rel("r", "a", "b", length=(1, None)))
    with pytest.raises(LimitExceeded, match=r"\[\*1\.\.3\]"):
        rows(plan, "b", graph=build_clique(4), limits=Limits(max_hops=3))


def test_a_bounded_walk_within_the_most_hops_is_answered() -> None:
    plan = match(node("a", id="n0"), node("b"), rel("r", "a", "b", length=(1, 3)))
    assert len(rows(plan, "b", graph=build_clique(4), limits=Limits(max_hops=3))) > 3


def test_open_walks_are_held_within_the_limit_of_rows() -> None:
    plan = match(node("a", id="n0"), node("b"), rel("r", "a", "b", length=(9, 9)))
    with pytest.raises(LimitExceeded, match="in memory"):
        rows(plan, "b", graph=build_clique(12), limits=Limits(max_rows=50))


# --- against a matcher that tries everything --------------------------------------------------

IDS = "abcd"
EDGES = st.lists(
    st.tuples(st.sampled_from(IDS), st.sampled_from(IDS), st.sampled_from(["t", "u"])), max_size=7
)
VARIABLES = ["x", "y", "z"]
CROSSINGS = st.lists(
    st.tuples(
        st.sampled_from(VARIABLES),
        st.sampled_from(VARIABLES),
        st.sampled_from(["->", "<-", "--"]),
        st.sampled_from([(), ("t",)]),
        st.sampled_from([None, None, (1, 2), (0, 1), (2, 3), (0, 0), (2, 1)]),
    ),
    min_size=1,
    max_size=3,
)


def try_everything(graph: MemoryReader, wanted: GraphPattern) -> list[tuple[Any, ...]]:
    """All assignments of nodes and walks to the pattern's variables, by exhaustion."""
    relationships = list(graph.scan_relationships(()))
    names = [one.variable for one in wanted.nodes]
    found = []
    for ids in product(IDS, repeat=len(names)):
        place = dict(zip(names, ids, strict=True))
        labelled = all(one.labels is None or place[one.variable] in "ab" for one in wanted.nodes)
        if not labelled:
            continue
        walks = [list(_list_walks(relationships, one, place)) for one in wanted.relationships]
        for chosen in product(*walks):
            used = [step for walk in chosen for step in walk]
            if len(used) == len(set(used)):
                found.append((*ids, *[_show_walk(walk) for walk in chosen]))
    return found


def _list_walks(relationships: list[Any], crossing: Any, place: dict[str, str]) -> Any:
    shortest, longest = (
        (crossing.length.minimum, crossing.length.maximum) if crossing.length else (1, 1)
    )
    end = place[crossing.right]
    waiting: list[tuple[tuple[Any, ...], str]] = [((), place[crossing.left])]
    while waiting:
        walk, at = waiting.pop()
        if len(walk) >= shortest and at == end:
            yield walk
        if len(walk) == longest:
            continue
        for one in relationships:
            if one in walk or (crossing.types and one.type not in crossing.types):
                continue
            reached = set()
            if crossing.direction is not Direction.INCOMING and one.source == at:
                reached.add(one.target)
            if crossing.direction is not Direction.OUTGOING and one.target == at:
                reached.add(one.source)
            waiting += [((*walk, one), to) for to in reached]


def _show_walk(walk: Any) -> tuple[str, ...]:
    return tuple(f"{one.source}:{one.id}" for one in walk)


@settings(max_examples=300, deadline=None)
@given(EDGES, CROSSINGS, st.sampled_from(["", *VARIABLES]), st.integers(0, 2))
def test_matching_finds_exactly_what_exhaustion_finds(
    edges: list[Any], crossings: list[Any], labelled: str, split_at: int
) -> None:
    twins = [build_twin(one, "dtmi:t:N;1" if one in "ab" else "dtmi:t:O;1") for one in IDS]
    graph = MemoryReader(
        twins, [build_relationship(x, str(i), kind, y) for i, (x, y, kind) in enumerate(edges)]
    )
    parts = [
        rel(f"r{i}", left, right, *types, way=way, length=length)
        for i, (left, right, way, types, length) in enumerate(crossings)
    ]
    names = sorted({name for left, right, *_ in crossings for name in (left, right)})
    nodes = [node(name, "N") if name == labelled else node(name) for name in names]
    wanted = pattern(*nodes, *parts)
    columns = (*names, *(part.variable for part in parts))
    plan: Operator = Match(Unit(), wanted)
    if split_at:  # NOTE: the first node bound before the pattern must change nothing
        plan = Match(match(nodes[0]), wanted)
    found = [
        tuple(tuple(one) if isinstance(one, list) else one for one in row)
        for row in rows(plan, *columns, graph=graph)
    ]
    flat = [tuple((one,) if ":" in one else one for one in row) for row in found]
    assert sorted(flat) == sorted(try_everything(graph, wanted))
