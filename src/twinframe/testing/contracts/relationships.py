"""The storage contract for relationships and their listings."""

from __future__ import annotations

from uuid import uuid4

import orjson
import pytest

from twinframe.errors import RelationshipNotFound, TargetTwinNotFound, TwinNotFound
from twinframe.model.values import JsonValue
from twinframe.storage.base import GraphSession, GraphStore, IncomingRelationship, StoredDocument
from twinframe.testing.contracts.base import (
    EXACT,
    StoreContract,
    put,
    reading,
    run,
    spelling,
)
from twinframe.testing.factories import build_relationship_record, build_twin_record


def _page_through(session: GraphSession, source_id: str, limit: int) -> list[str]:
    """The etags of all outgoing relationships, read in pages."""
    etags: list[str] = []
    after: str | None = None
    while True:
        page = session.read_relationships(source_id, name=None, after=after, limit=limit)
        assert len(page) <= limit
        etags += [listed.item.etag for listed in page]
        if len(page) < limit:
            return etags
        after = page[-1].key


class RelationshipContract(StoreContract):
    """Creating, replacing, reading, listing and deleting relationships."""

    @pytest.fixture
    def ends(self, store: GraphStore) -> None:
        """The twins a, b and c."""
        put(store, *(build_twin_record(x) for x in "abc"))

    @pytest.mark.usefixtures("ends")
    def test_a_relationship_that_was_put_is_read_back(self, store: GraphStore) -> None:
        record = build_relationship_record("a", "r", "b", since="2024-01-01", n=2**63 - 1)
        put(store, record)
        with reading(store) as session:
            assert session.read_relationship("a", "r") == StoredDocument(record.etag, record.body)
            assert session.read_relationship("b", "r") is None
            assert session.read_relationship("a", "R") is None

    @pytest.mark.usefixtures("ends")
    @pytest.mark.parametrize(("what", "value"), EXACT, ids=[what for what, _ in EXACT])
    def test_a_relationships_document_keeps_its_meaning(
        self, store: GraphStore, what: str, value: JsonValue
    ) -> None:
        record = build_relationship_record("a", "r", "b", value=value)
        put(store, record)
        with reading(store) as session:
            (listed,) = session.read_relationships("a", name=None, after=None, limit=9)
            assert session.read_relationship("a", "r") == listed.item, what
        assert listed.item.etag == record.etag
        assert spelling(listed.item.body) == spelling(record.body)

    def test_any_ids_and_names_are_their_own(self, store: GraphStore) -> None:
        texts = ["a/b", "a b", '"', "'", "\\", "\u00e9", "e\u0301", "\U0001f3e2", "A", "a", "_%"]
        put(store, *(build_twin_record(text) for text in texts))
        keys = [(source, other) for source in texts for other in texts]
        put(store, *(build_relationship_record(s, o, o, name=s) for s, o in keys))
        with reading(store) as session:
            for source in texts:
                found = session.read_relationships(source, name=source, after=None, limit=99)
                assert len(found) == len(texts)
                incoming = session.read_incoming(source, after=None, limit=99)
                assert {x.item.source_id for x in incoming} == set(texts)
                assert {x.item.relationship_id for x in incoming} == {source}
            for source, other in keys:
                stored = session.read_relationship(source, other)
                assert stored is not None
                document = orjson.loads(stored.body)
                assert (document["$sourceId"], document["$relationshipId"]) == (source, other)

    @pytest.mark.usefixtures("ends")
    def test_two_sources_may_use_the_same_relationship_id(self, store: GraphStore) -> None:
        first = build_relationship_record("a", "r", "c")
        second = build_relationship_record("b", "r", "c")
        put(store, first, second)
        run(store, lambda t: t.delete_relationship("a", "r"))
        with reading(store) as session:
            assert session.read_relationship("a", "r") is None
            assert session.read_relationship("b", "r") == StoredDocument(second.etag, second.body)

    @pytest.mark.usefixtures("ends")
    def test_a_replaced_relationship_moves_to_its_new_target_and_name(
        self, store: GraphStore
    ) -> None:
        put(store, build_relationship_record("a", "r", "b", name="old"))
        put(store, build_relationship_record("a", "r", "c", name="new"))
        with reading(store) as session:
            assert list(session.read_incoming("b", after=None, limit=9)) == []
            (incoming,) = session.read_incoming("c", after=None, limit=9)
            assert incoming.item == IncomingRelationship("a", "r", "new")
            assert session.read_relationships("a", name="old", after=None, limit=9) == []
            assert len(session.read_relationships("a", name="new", after=None, limit=9)) == 1
        run(store, lambda t: t.delete_twin("b"))

    @pytest.mark.usefixtures("ends")
    def test_both_ends_must_exist(self, store: GraphStore) -> None:
        with pytest.raises(TwinNotFound) as no_source:
            put(store, build_relationship_record("x", "r", "b"))
        assert no_source.value.twin_id == "x"
        with pytest.raises(TargetTwinNotFound) as no_target:
            put(store, build_relationship_record("a", "r", "x"))
        assert no_target.value.twin_id == "x"

    @pytest.mark.usefixtures("ends")
    def test_a_twin_may_relate_to_itself(self, store: GraphStore) -> None:
        put(store, build_relationship_record("a", "r", "a"))
        with reading(store) as session:
            assert len(session.read_relationships("a", name=None, after=None, limit=9)) == 1
            assert len(session.read_incoming("a", after=None, limit=9)) == 1
        run(store, lambda t: t.delete_relationship("a", "r"))
        run(store, lambda t: t.delete_twin("a"))

    @pytest.mark.usefixtures("ends")
    def test_deleting_an_absent_relationship_is_an_error(self, store: GraphStore) -> None:
        with pytest.raises(RelationshipNotFound) as caught:
            run(store, lambda t: t.delete_relationship("a", "r"))
        assert (caught.value.twin_id, caught.value.relationship_id) == ("a", "r")

    @pytest.mark.usefixtures("ends")
    def test_a_name_selects_exactly(self, store: GraphStore) -> None:
        put(store, build_relationship_record("a", "1", "b", name="has"))
        put(store, build_relationship_record("a", "2", "b", name="Has"))
        put(store, build_relationship_record("a", "3", "b", name="hasPart"))
        with reading(store) as session:
            found = session.read_relationships("a", name="has", after=None, limit=9)
            assert [listed.item.body for listed in found] == [
                stored.body for stored in [session.read_relationship("a", "1")] if stored
            ]
            assert session.read_relationships("a", name="none", after=None, limit=9) == []

    @pytest.mark.usefixtures("ends")
    @pytest.mark.parametrize("limit", [1, 2, 3, 7, 50])
    def test_pages_hold_each_relationship_once(self, store: GraphStore, limit: int) -> None:
        records = [build_relationship_record("a", f"r{n * 7 % 20}", "b") for n in range(20)]
        put(store, *records, build_relationship_record("b", "r1", "a"))
        with reading(store) as session:
            etags = _page_through(session, "a", limit)
        assert sorted(etags) == sorted(record.etag for record in records)

    @pytest.mark.usefixtures("ends")
    def test_pages_of_one_name_hold_each_relationship_once(self, store: GraphStore) -> None:
        names = {f"r{n}": ("has", "is")[n % 2] for n in range(9)}
        put(store, *(build_relationship_record("a", x, "b", name) for x, name in names.items()))
        with reading(store) as session:
            first = session.read_relationships("a", name="is", after=None, limit=3)
            second = session.read_relationships("a", name="is", after=first[-1].key, limit=3)
        assert len(first) == 3
        assert len(second) == 1
        assert len({listed.key for listed in [*first, *second]}) == 4

    @pytest.mark.usefixtures("ends")
    def test_incoming_pages_hold_each_relationship_once(self, store: GraphStore) -> None:
        keys = [(source, f"r{n}") for source in "ab" for n in range(5)]
        put(store, *(build_relationship_record(s, r, "c", name=f"n{r}") for s, r in keys))
        found: list[IncomingRelationship] = []
        after: str | None = None
        with reading(store) as session:
            while page := session.read_incoming("c", after=after, limit=3):
                found += [listed.item for listed in page]
                after = page[-1].key
        assert sorted((x.source_id, x.relationship_id) for x in found) == sorted(keys)
        assert all(x.name == f"n{x.relationship_id}" for x in found)

    @pytest.mark.usefixtures("ends")
    @pytest.mark.parametrize("limit", [1, 4])
    def test_pages_hold_each_relationship_once_whatever_was_written_first(
        self, store: GraphStore, limit: int
    ) -> None:
        long = uuid4().hex * 3  # the same beginning, longer than an index may compare
        # NOTE: texts that a server has never seen: it may number them in order of arrival.
        ids = [f"{start}{n}" for start in (uuid4().hex[:6], long, f"{long}é") for n in (3, 1, 2, 0)]
        for x in ids:
            put(store, build_relationship_record("a", x, "b"))
            put(store, build_relationship_record("b", x, "a"))
        outgoing: list[str] = []
        incoming: list[str] = []
        after: str | None = None
        with reading(store) as session:
            while page := session.read_relationships("a", name=None, after=after, limit=limit):
                outgoing += [listed.key for listed in page]
                after = page[-1].key
            after = None
            while some := session.read_incoming("a", after=after, limit=limit):
                incoming += [listed.item.relationship_id for listed in some]
                after = some[-1].key
        assert sorted(outgoing) == sorted(incoming) == sorted(ids)

    @pytest.mark.usefixtures("ends")
    def test_paging_goes_on_while_relationships_come_and_go(self, store: GraphStore) -> None:
        kept = [build_relationship_record("a", f"k{n}", "b") for n in range(8)]
        going = [build_relationship_record("a", f"g{n}", "b") for n in range(8)]
        put(store, *kept, *going)
        seen: list[str] = []
        after: str | None = None
        for n in range(8):
            with reading(store) as session:
                page = session.read_relationships("a", name=None, after=after, limit=3)
            if not page:
                break
            seen += [listed.item.etag for listed in page]
            after = page[-1].key
            run(store, lambda t, n=n: t.delete_relationship("a", f"g{n}"))  # type: ignore[misc]
            put(store, build_relationship_record("a", f"z{n}", "b"))
        with reading(store) as session:
            while page := session.read_relationships("a", name=None, after=after, limit=3):
                seen += [listed.item.etag for listed in page]
                after = page[-1].key
        assert len(seen) == len(set(seen))
        assert {record.etag for record in kept} <= set(seen)

    @pytest.mark.usefixtures("ends")
    def test_a_page_starts_behind_a_key_that_was_deleted(self, store: GraphStore) -> None:
        put(store, *(build_relationship_record("a", f"r{n}", "b") for n in range(4)))
        with reading(store) as session:
            first = session.read_relationships("a", name=None, after=None, limit=2)
            expected = session.read_relationships("a", name=None, after=first[-1].key, limit=9)
        gone = first[-1].item.etag
        for n in range(4):
            with reading(store) as session:
                stored = session.read_relationship("a", f"r{n}")
            if stored and stored.etag == gone:
                run(store, lambda t, n=n: t.delete_relationship("a", f"r{n}"))  # type: ignore[misc]
        with reading(store) as session:
            assert (
                session.read_relationships("a", name=None, after=first[-1].key, limit=9) == expected
            )
