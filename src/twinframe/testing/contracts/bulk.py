"""The storage contract for whole graphs: putting many records at once, and reading all in order."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from twinframe.errors import TargetTwinNotFound, TwinNotFound
from twinframe.storage.base import GraphStore, GraphTransaction, StoredDocument
from twinframe.testing.contracts.base import StoreContract, put, reading, run
from twinframe.testing.factories import (
    build_model_id,
    build_model_record,
    build_relationship_record,
    build_twin_record,
)

_IDS = ["B", "a", "a/b", "aa", "\u00e9", "\uffee", "\U0001f3e2"]
"""In the order of their code points, which is not that of UTF-16 and of no dictionary."""


class BulkContract(StoreContract):
    """Putting many, reading all."""

    def test_twins_that_are_put_together_are_as_if_put_one_by_one(self, store: GraphStore) -> None:
        put(store, build_model_record("Thing"), build_twin_record("b", "Thing", old=1))
        records = [
            build_twin_record("a", "Thing", n=1),
            build_twin_record("b", "Gone", n=2),
            build_twin_record("a", "Thing", n=3),
        ]
        run(store, lambda t: t.put_twins(records))
        with reading(store) as session:
            found = [session.read_twin(twin_id) for twin_id in ("a", "b")]
            assert [one.etag for one in found if one] == [records[2].etag, records[1].etag]
            assert session.read_twin_model("b") == build_model_id("Gone")
            assert session.count_twins() == 2

    def test_relationships_that_are_put_together_are_as_if_put_one_by_one(
        self, store: GraphStore
    ) -> None:
        put(store, *(build_twin_record(twin_id) for twin_id in "abc"))
        first = build_relationship_record("a", "r", "b")
        records = [
            first,
            build_relationship_record("b", "r", "a"),
            build_relationship_record("a", "r", "c", name="other"),
        ]
        run(store, lambda t: t.put_relationships(records))
        with reading(store) as session:
            stored = session.read_relationship("a", "r")
            assert stored is not None
            assert stored.etag == records[2].etag
            assert [x.item.name for x in session.read_incoming("c", after=None, limit=9)] == [
                "other"
            ]
            assert list(session.read_incoming("b", after=None, limit=9)) == []

    @pytest.mark.parametrize(
        ("ends", "error"), [(("absent", "b"), TwinNotFound), (("a", "absent"), TargetTwinNotFound)]
    )
    def test_one_relationship_without_an_end_takes_all_back(
        self, store: GraphStore, ends: tuple[str, str], error: type[Exception]
    ) -> None:
        put(store, build_twin_record("a"), build_twin_record("b"))
        records = [
            build_relationship_record("a", "good", "b"),
            build_relationship_record(ends[0], "bad", ends[1]),
        ]
        with pytest.raises(error):
            run(store, lambda t: t.put_relationships(records))
        with reading(store) as session:
            assert session.read_relationship("a", "good") is None

    def test_hundreds_that_are_put_together_are_as_if_put_one_by_one(
        self, store: GraphStore
    ) -> None:
        many = 237
        twins = [build_twin_record(f"t{at:03}", "XY"[at % 2], n=at) for at in range(many)]
        again = [build_twin_record(f"t{at:03}", "Y", m=at) for at in range(0, many, 3)]
        run(store, lambda t: t.put_twins([*twins, *again]))
        ends = [(f"t{at:03}", f"t{at * 7 % many:03}") for at in range(many)]
        related = [build_relationship_record(a, "r", b, n=1) for a, b in ends]
        changed = [build_relationship_record(a, "r", a, "other") for a, _ in ends[5::4]]
        run(store, lambda t: t.put_relationships(related))
        run(store, lambda t: t.put_relationships([*changed, *related[:5]]))
        with reading(store) as session, session.snapshot():
            expected = {each.twin_id: each for each in (*twins, *again)}
            assert {each.twin_id: each for each in session.iterate_twins()} == expected
            assert session.count_twins() == many
            stored = {each.source_id: each for each in (*related, *changed)}
            assert {x.source_id: x for x in session.iterate_relationships()} == stored

    def test_one_of_hundreds_without_an_end_takes_all_back(self, store: GraphStore) -> None:
        run(store, lambda t: t.put_twins([build_twin_record(f"t{at:03}") for at in range(150)]))
        records = [build_relationship_record(f"t{at:03}", "r", "t000") for at in range(150)]
        records[140] = build_relationship_record("t140", "r", "absent")
        with pytest.raises(TargetTwinNotFound, match="absent"):
            run(store, lambda t: t.put_relationships(records))
        with reading(store) as session, session.snapshot():
            assert list(session.iterate_relationships()) == []

    def test_nothing_can_be_put_at_once(self, store: GraphStore) -> None:
        run(store, lambda t: t.put_twins([]))
        run(store, lambda t: t.put_relationships([]))
        with reading(store) as session, session.snapshot():
            assert list(session.iterate_twins()) == []
            assert list(session.iterate_relationships()) == []

    def test_models_of_many_twins_are_told_at_once(self, store: GraphStore) -> None:
        put(store, build_twin_record("a", "X"), build_twin_record("'\u00e9", "Y"))
        with reading(store) as session:
            asked = ["absent", "'\u00e9", "a", "a"]
            assert session.read_twin_models(asked) == {
                "a": build_model_id("X"),
                "'\u00e9": build_model_id("Y"),
            }
            assert session.read_twin_models([]) == {}

    def test_many_documents_are_read_at_once(self, store: GraphStore) -> None:
        twins = [build_twin_record(twin_id, n=1) for twin_id in ("'\u00e9\"", "b", "\U0001f3e2")]
        related = [build_relationship_record("b", name, "b", n=2) for name in ("r", "'\u00e9\"")]
        put(store, *twins, *related)
        ids = [*(each.twin_id for each in twins), "absent", "b"]
        keys = [("b", each.relationship_id) for each in related]
        with reading(store) as session:
            assert session.read_twin_documents(ids) == {
                each.twin_id: StoredDocument(each.etag, each.body) for each in twins
            }
            found = session.read_relationship_documents(
                [*keys, ("b", "absent"), ("absent", "r"), keys[0]]
            )
            assert found == {
                ("b", each.relationship_id): StoredDocument(each.etag, each.body)
                for each in related
            }
            assert session.read_twin_documents([]) == {}
            assert session.read_relationship_documents([]) == {}

    def test_a_work_is_told_the_models_of_twins_it_has_just_put(self, store: GraphStore) -> None:
        put(store, build_twin_record("b", "X"))

        def apply(transaction: GraphTransaction) -> Mapping[str, str]:
            transaction.put_twins([build_twin_record("a", "X"), build_twin_record("b", "Y")])
            return transaction.read_twin_models(["a", "b"])

        assert run(store, apply) == {"a": build_model_id("X"), "b": build_model_id("Y")}

    def test_all_twins_come_by_the_code_points_of_their_ids(self, store: GraphStore) -> None:
        records = {twin_id: build_twin_record(twin_id, n=at) for at, twin_id in enumerate(_IDS)}
        put(store, *(records[twin_id] for twin_id in sorted(_IDS, reverse=True)))
        with reading(store) as session, session.snapshot():
            assert list(session.iterate_twins()) == [records[twin_id] for twin_id in _IDS]

    def test_all_relationships_come_by_source_and_id(self, store: GraphStore) -> None:
        put(store, *(build_twin_record(twin_id) for twin_id in _IDS))
        expected = [
            build_relationship_record(source_id, relationship_id, "a", n=1)
            for source_id in _IDS
            for relationship_id in ("R", "r", "\uffee", "\U0001f3e2")
        ]
        run(store, lambda t: t.put_relationships(expected[::-1]))
        with reading(store) as session, session.snapshot():
            assert list(session.iterate_relationships()) == expected

    def test_all_twins_are_those_of_one_state(self, store: GraphStore, other: GraphStore) -> None:
        put(store, *(build_twin_record(f"t{at:03}") for at in range(300)))
        with reading(store) as session, session.snapshot():
            twins = session.iterate_twins()
            seen = [next(twins).twin_id]
            put(other, build_twin_record("t0005"), build_twin_record("z"))
            seen += [twin.twin_id for twin in twins]
        assert seen == [f"t{at:03}" for at in range(300)]
