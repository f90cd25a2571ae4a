"""The storage contract for twins."""

from __future__ import annotations

import orjson
import pytest

from twinframe.errors import RelationshipsNotDeleted, TwinNotFound
from twinframe.model.values import JsonValue
from twinframe.storage.base import GraphStore, GraphTransaction, StoredDocument
from twinframe.testing.contracts.base import (
    EXACT,
    StoreContract,
    put,
    reading,
    run,
    spelling,
)
from twinframe.testing.factories import build_relationship_record, build_twin_record


class TwinContract(StoreContract):
    """Creating, replacing, reading and deleting twins."""

    def test_a_twin_that_was_put_is_read_back(self, store: GraphStore) -> None:
        record = build_twin_record("t1", name="one")
        put(store, record)
        with reading(store) as session:
            assert session.read_twin("t1") == StoredDocument(record.etag, record.body)
            assert session.has_twin("t1")
            assert session.read_twin_model("t1") == record.model_id

    def test_an_absent_twin_is_none(self, store: GraphStore) -> None:
        with reading(store) as session:
            assert session.read_twin("t1") is None
            assert not session.has_twin("t1")
            assert session.read_twin_model("t1") is None

    def test_twins_are_counted_also_those_of_the_work_itself(self, store: GraphStore) -> None:
        put(store, *(build_twin_record(name) for name in "abc"))
        put(store, build_twin_record("a", model="Other"))

        def apply(transaction: GraphTransaction) -> list[int]:
            counted = [transaction.count_twins()]
            transaction.put_twin(build_twin_record("d"))
            counted.append(transaction.count_twins())
            transaction.delete_twin("a")
            transaction.delete_twin("b")
            return [*counted, transaction.count_twins()]

        assert run(store, apply) == [3, 4, 2]
        with reading(store) as session:
            assert session.count_twins() == 2

    def test_a_store_that_knows_its_size_sees_it_grow_in_the_work_and_not_stay(
        self, store: GraphStore
    ) -> None:
        def fill(transaction: GraphTransaction) -> tuple[int | None, int | None]:
            before = transaction.measure_content()
            for number in range(200):
                transaction.put_twin(build_twin_record(f"t{number}", text="x" * 1000))
            return before, transaction.measure_content()

        def empty(transaction: GraphTransaction) -> int | None:
            for number in range(200):
                transaction.delete_twin(f"t{number}")
            return transaction.measure_content()

        before, full = run(store, fill)
        after = run(store, empty)
        if before is None:
            assert (full, after) == (None, None)
        else:
            assert full is not None
            assert after is not None
            assert full - before >= 200_000
            assert after < full - 100_000

    @pytest.mark.parametrize(("what", "value"), EXACT, ids=[what for what, _ in EXACT])
    def test_a_document_keeps_its_meaning(
        self, store: GraphStore, what: str, value: JsonValue
    ) -> None:
        record = build_twin_record("t1", value=value)
        put(store, record)
        with reading(store) as session:
            stored = session.read_twin("t1")
        assert stored is not None, what
        assert stored.etag == record.etag
        assert spelling(stored.body) == spelling(record.body)

    @pytest.mark.parametrize(
        "twin_id", ["a b", "a/b", "a%2Fb", "\u00e9", "e\u0301", "A", "a", "'", '"', "x" * 1024, "0"]
    )
    def test_any_id_is_its_own(self, store: GraphStore, twin_id: str) -> None:
        put(store, build_twin_record(twin_id), build_twin_record("another"))
        with reading(store) as session:
            stored = session.read_twin(twin_id)
            assert stored is not None
            assert orjson.loads(stored.body)["$dtId"] == twin_id
            assert list(session.read_nodes([twin_id])) == [twin_id]
            for near in (twin_id + " ", twin_id.swapcase() + "_", twin_id + "\u0301"):
                assert session.read_twin(near) is None

    def test_ids_differ_by_case_and_by_code_points(self, store: GraphStore) -> None:
        ids = ["a", "A", "\u00e9", "e\u0301", "1", "01", " 1"]
        put(store, *(build_twin_record(x) for x in ids))
        with reading(store) as session:
            assert {node.id for node in session.scan_nodes(None)} == set(ids)

    def test_a_replaced_twin_has_the_new_document_and_model_only(self, store: GraphStore) -> None:
        put(store, build_twin_record("t1", model="Old", gone=1))
        record = build_twin_record("t1", model="New", come=2)
        put(store, record)
        with reading(store) as session:
            assert session.read_twin("t1") == StoredDocument(record.etag, record.body)
            assert session.read_twin_model("t1") == record.model_id

    def test_replacing_a_twin_keeps_its_relationships(self, store: GraphStore) -> None:
        edges = [build_relationship_record("a", "r", "b"), build_relationship_record("b", "r", "a")]
        put(store, build_twin_record("a"), build_twin_record("b"), *edges)
        put(store, build_twin_record("a", model="New", changed=True))
        with reading(store) as session:
            for edge in edges:
                stored = session.read_relationship(edge.source_id, edge.relationship_id)
                assert stored == StoredDocument(edge.etag, edge.body)
            assert [x.item.source_id for x in session.read_incoming("a", after=None, limit=9)] == [
                "b"
            ]

    def test_a_deleted_twin_is_gone_and_can_come_again(self, store: GraphStore) -> None:
        put(store, build_twin_record("t1"))
        run(store, lambda t: t.delete_twin("t1"))
        with reading(store) as session:
            assert session.read_twin("t1") is None
            assert list(session.scan_nodes(None)) == []
        again = build_twin_record("t1", again=True)
        put(store, again)
        with reading(store) as session:
            assert session.read_twin("t1") == StoredDocument(again.etag, again.body)

    def test_deleting_an_absent_twin_is_an_error(self, store: GraphStore) -> None:
        with pytest.raises(TwinNotFound) as caught:
            run(store, lambda t: t.delete_twin("t1"))
        assert caught.value.twin_id == "t1"

    @pytest.mark.parametrize("twin_id", ["a", "b"], ids=["the source", "the target"])
    def test_a_twin_with_relationships_is_not_deleted(
        self, store: GraphStore, twin_id: str
    ) -> None:
        edge = build_relationship_record("a", "r", "b")
        put(store, build_twin_record("a"), build_twin_record("b"), edge)
        assert run(store, lambda t: t.has_relationships(twin_id))
        with pytest.raises(RelationshipsNotDeleted):
            run(store, lambda t: t.delete_twin(twin_id))
        run(store, lambda t: t.delete_relationship("a", "r"))
        assert not run(store, lambda t: t.has_relationships(twin_id))
        run(store, lambda t: t.delete_twin(twin_id))

    def test_what_was_written_is_there_after_reopening(self, store: GraphStore) -> None:
        record = build_twin_record("t1", name="one")
        put(store, record)
        with reading(store) as session:
            instance = session.read_instance()
        store.close()
        store.open()
        with reading(store) as session:
            assert session.read_twin("t1") == StoredDocument(record.etag, record.body)
            assert session.read_instance() == instance

    def test_the_instance_has_an_id_and_a_secret_of_32_bytes(
        self, store: GraphStore, other: GraphStore
    ) -> None:
        with reading(store) as session, reading(other) as second:
            assert session.read_instance() == second.read_instance()
            assert session.read_instance().id
            assert len(session.read_instance().secret) == 32
