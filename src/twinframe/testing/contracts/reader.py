"""The storage contract for the port through which the evaluator reads."""

from __future__ import annotations

import pytest

from twinframe.query.algebra import (
    Direction,
    LabelAnd,
    LabelExpression,
    LabelName,
    LabelNot,
    LabelOr,
)
from twinframe.storage.base import GraphStore
from twinframe.testing.contracts.base import StoreContract, put, reading
from twinframe.testing.factories import (
    build_model_id,
    build_model_record,
    build_relationship_record,
    build_twin_record,
)

LABELS: tuple[tuple[LabelExpression | None, str], ...] = (
    (None, "a b c d"),
    (LabelName("Twin"), "a b c d"),
    (LabelName("Space"), "a b c"),
    (LabelName(build_model_id("Space")), "a b c"),
    (LabelName("Room"), "c"),
    (LabelName("space"), ""),
    (LabelName("Nothing"), ""),
    (LabelNot(LabelName("Space")), "d"),
    (LabelNot(LabelName("Twin")), ""),
    (LabelAnd(LabelName("Space"), LabelNot(LabelName("Room"))), "a b"),
    (LabelOr(LabelName("Room"), LabelName("Sensor")), "c d"),
    (LabelAnd(LabelName("Room"), LabelName("Sensor")), ""),
    (LabelNot(LabelOr(LabelName("Floor"), LabelName("Sensor"))), "a c"),
)
HOPS: tuple[tuple[str, Direction, tuple[str, ...], str], ...] = (
    ("a", Direction.OUTGOING, (), "has:b has:c loop:a"),
    ("a", Direction.INCOMING, (), "is:c loop:a"),
    ("a", Direction.BOTH, (), "has:b has:c is:c loop:a"),
    ("a", Direction.OUTGOING, ("has",), "has:b has:c"),
    ("a", Direction.BOTH, ("loop",), "loop:a"),
    ("a", Direction.BOTH, ("has", "is"), "has:b has:c is:c"),
    ("a", Direction.OUTGOING, ("none",), ""),
    ("d", Direction.BOTH, (), ""),
    ("x", Direction.BOTH, (), ""),
)


class ReaderContract(StoreContract):
    """Scans by label and type, batched reads, hops."""

    @pytest.fixture
    def graph(self, store: GraphStore) -> None:
        """Spaces a, b (a Floor) and c (a Room), a Sensor d; a loop at a; parallel has and is."""
        put(
            store,
            build_model_record("Space"),
            build_model_record("Floor", extends=["Space"]),
            build_model_record("Room", extends=["Space"]),
            build_model_record("Sensor"),
            build_twin_record("a", "Space", n=1),
            build_twin_record("b", "Floor"),
            build_twin_record("c", "Room"),
            build_twin_record("d", "Sensor"),
            build_relationship_record("a", "1", "b"),
            build_relationship_record("a", "2", "c"),
            build_relationship_record("c", "1", "a", "is"),
            build_relationship_record("a", "3", "a", "loop"),
        )

    @pytest.mark.usefixtures("graph")
    @pytest.mark.parametrize(("labels", "expected"), LABELS)
    def test_a_scan_finds_the_twins_that_satisfy_the_labels(
        self, store: GraphStore, labels: LabelExpression | None, expected: str
    ) -> None:
        with reading(store) as session:
            found = sorted(node.id for node in session.scan_nodes(labels))
        assert found == expected.split()

    @pytest.mark.usefixtures("graph")
    def test_a_node_carries_its_document_and_labels(self, store: GraphStore) -> None:
        with reading(store) as session:
            (node,) = session.read_nodes(["a"]).values()
            (room,) = session.scan_nodes(LabelName("Room"))
        assert node.document["n"] == 1
        assert node.document["$dtId"] == "a"
        assert room.labels == {
            "Twin",
            "Room",
            "Space",
            build_model_id("Room"),
            build_model_id("Space"),
        }

    @pytest.mark.usefixtures("graph")
    def test_absent_ids_are_left_out_and_repeated_ones_come_once(self, store: GraphStore) -> None:
        with reading(store) as session:
            assert set(session.read_nodes(["a", "x", "a", "d"])) == {"a", "d"}
            assert session.read_nodes([]) == {}

    @pytest.mark.usefixtures("graph")
    def test_many_ids_are_read_at_once(self, store: GraphStore) -> None:
        put(store, *(build_twin_record(f"n{n}") for n in range(1500)))
        ids = [f"n{n}" for n in range(2500)]
        with reading(store) as session:
            assert set(session.read_nodes(ids)) == set(ids[:1500])

    @pytest.mark.usefixtures("graph")
    @pytest.mark.parametrize(
        ("types", "expected"),
        [((), 4), (("has",), 2), (("has", "loop"), 3), (("Has",), 0), (("has", "none"), 2)],
    )
    def test_relationships_are_scanned_by_type(
        self, store: GraphStore, types: tuple[str, ...], expected: int
    ) -> None:
        with reading(store) as session:
            found = list(session.scan_relationships(types))
        assert len(found) == expected
        assert all(not types or relationship.type in types for relationship in found)

    @pytest.mark.usefixtures("graph")
    @pytest.mark.parametrize(("origin", "direction", "types", "expected"), HOPS)
    def test_hops_are_found_in_each_direction_and_loops_once(
        self,
        store: GraphStore,
        origin: str,
        direction: Direction,
        types: tuple[str, ...],
        expected: str,
    ) -> None:
        with reading(store) as session:
            hops = list(session.read_hops([origin], direction, types))
        assert sorted(f"{hop.relationship.type}:{hop.reached}" for hop in hops) == expected.split()
        for hop in hops:
            ends = {hop.relationship.source, hop.relationship.target}
            assert hop.origin == origin
            assert ends == {hop.origin, hop.reached}

    @pytest.mark.usefixtures("graph")
    def test_hops_of_many_origins_name_their_origin(self, store: GraphStore) -> None:
        with reading(store) as session:
            hops = list(session.read_hops(iter(["a", "b", "c"]), Direction.BOTH, ["has"]))
        assert sorted((hop.origin, hop.reached) for hop in hops) == [
            ("a", "b"),
            ("a", "c"),
            ("b", "a"),
            ("c", "a"),
        ]

    @pytest.mark.usefixtures("graph")
    def test_a_relationship_carries_its_document(self, store: GraphStore) -> None:
        put(store, build_relationship_record("b", "x", "d", "sees", since="now"))
        with reading(store) as session:
            (found,) = session.scan_relationships(["sees"])
        assert (found.source, found.id, found.target, found.type) == ("b", "x", "d", "sees")
        assert found.document["since"] == "now"
        assert found.document["$targetId"] == "d"

    @pytest.mark.usefixtures("graph")
    def test_model_ids_are_those_stored_and_those_twins_name(self, store: GraphStore) -> None:
        put(store, build_twin_record("g", "Ghost"))
        with reading(store) as session:
            assert session.read_model_ids() == {
                build_model_id(x) for x in ("Space", "Floor", "Room", "Sensor", "Ghost")
            }
