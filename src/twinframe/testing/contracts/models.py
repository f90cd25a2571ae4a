"""The storage contract for models, and for the labels that twins keep of deleted ones."""

from __future__ import annotations

from dataclasses import replace

import orjson
import pytest

from twinframe.errors import ModelAlreadyExists, ModelNotFound, ModelReferenced
from twinframe.model.values import JsonValue
from twinframe.query.algebra import LabelExpression, LabelName
from twinframe.query.engine import CannotRun
from twinframe.storage.base import GraphStore, GraphTransaction
from twinframe.testing.contracts.base import (
    EXACT,
    StoreContract,
    put,
    reading,
    run,
    spelling,
)
from twinframe.testing.factories import build_model_id, build_model_record, build_twin_record


def _found(store: GraphStore, label: LabelExpression | str) -> set[str]:
    wanted = LabelName(label) if isinstance(label, str) else label
    with reading(store) as session:
        return {node.id for node in session.scan_nodes(wanted)}


def _descendants(store: GraphStore, name: str) -> set[str]:
    with reading(store) as session:
        return set(session.read_descendants(build_model_id(name)))


def _delete(store: GraphStore, *names: str) -> None:
    run(store, lambda t: t.delete_models([build_model_id(name) for name in names]))


class ModelContract(StoreContract):
    """Uploading, listing, decommissioning and deleting models; closure and labels."""

    def test_a_model_is_read_back_with_a_position(self, store: GraphStore) -> None:
        record = replace(build_model_record("A"), description='{"de":"Größe"}'.encode())
        put(store, record)
        with reading(store) as session:
            stored = session.read_model(record.model_id)
            assert stored is not None
            assert replace(stored, position=0) == record
            assert stored.position > 0
            assert session.read_model(build_model_id("B")) is None
            assert session.read_model("dtmi:test:a;1") is None

    @pytest.mark.parametrize(("what", "value"), EXACT, ids=[what for what, _ in EXACT])
    def test_a_models_document_keeps_its_meaning(
        self, store: GraphStore, what: str, value: JsonValue
    ) -> None:
        document = orjson.dumps({"z": value, "@id": build_model_id("A"), "a": value})
        put(store, replace(build_model_record("A"), document=document))
        with reading(store) as session:
            (listed,) = session.read_models(after=0, limit=9)
            assert session.read_model(build_model_id("A")) == listed, what
        assert spelling(listed.document) == spelling(document)

    def test_models_refer_to_each_other_in_one_call_in_any_order(self, store: GraphStore) -> None:
        put(
            store,
            build_model_record("Room", extends=["Space"], components=["Part"]),
            build_model_record("Part"),
            build_model_record("Space", components=["Part"]),
        )
        assert _descendants(store, "Space") == {build_model_id("Space"), build_model_id("Room")}
        assert _descendants(store, "Part") == {build_model_id("Part")}

    def test_models_are_listed_in_upload_order(self, store: GraphStore) -> None:
        names = ["M", "A", "Z", "B"]
        put(store, *(build_model_record(name) for name in names[:2]))
        put(store, *(build_model_record(name) for name in names[2:]))
        listed: list[str] = []
        after = 0
        with reading(store) as session:
            while page := session.read_models(after=after, limit=3):
                listed += [record.model_id for record in page]
                after = page[-1].position
        assert listed == [build_model_id(name) for name in names]

    def test_a_model_uploaded_again_is_listed_last(self, store: GraphStore) -> None:
        put(store, build_model_record("A"), build_model_record("B"))
        _delete(store, "B")
        put(store, build_model_record("C"))
        put(store, build_model_record("B"))
        with reading(store) as session:
            ids = [record.model_id for record in session.read_models(after=0, limit=9)]
        assert ids == [build_model_id(name) for name in "ACB"]

    def test_a_taken_id_refuses_the_whole_upload(self, store: GraphStore) -> None:
        put(store, build_model_record("A"))
        with pytest.raises(ModelAlreadyExists) as caught:
            put(store, build_model_record("B"), build_model_record("A"))
        assert caught.value.model_ids == (build_model_id("A"),)
        with reading(store) as session:
            assert session.read_model(build_model_id("B")) is None

    def test_the_closure_is_transitive_and_meets_diamonds_once(self, store: GraphStore) -> None:
        put(
            store,
            build_model_record("Bottom", extends=["Left", "Right"]),
            build_model_record("Left", extends=["Top"]),
            build_model_record("Right", extends=["Top"]),
            build_model_record("Top"),
        )
        put(store, build_model_record("Below", extends=["Bottom"]))
        everything = {build_model_id(x) for x in ("Top", "Left", "Right", "Bottom", "Below")}
        assert _descendants(store, "Top") == everything
        assert _descendants(store, "Right") == everything - {
            build_model_id("Top"),
            build_model_id("Left"),
        }
        put(store, build_twin_record("t", model="Below"), build_twin_record("u", model="Left"))
        assert _found(store, "Top") == {"t", "u"}
        assert _found(store, build_model_id("Right")) == {"t"}
        with reading(store) as session:
            assert len(list(session.scan_nodes(LabelName("Top")))) == 2

    def test_an_unknown_model_has_no_descendants(self, store: GraphStore) -> None:
        assert _descendants(store, "Nothing") == set()

    def test_decommissioning_sets_the_flag_and_nothing_else(self, store: GraphStore) -> None:
        put(store, build_model_record("A"), build_model_record("B"))
        run(store, lambda t: t.set_decommissioned(build_model_id("A"), True))
        with reading(store) as session:
            model, other = (session.read_model(build_model_id(x)) for x in "AB")
            assert model is not None
            assert replace(model, decommissioned=False, position=0) == build_model_record("A")
            assert model.decommissioned
            assert other is not None
            assert not other.decommissioned
        with pytest.raises(ModelNotFound):
            run(store, lambda t: t.set_decommissioned(build_model_id("C"), True))

    def test_referrers_are_direct_and_never_the_model_itself(self, store: GraphStore) -> None:
        put(
            store,
            build_model_record("A", components=["A"]),
            build_model_record("B", extends=["A"]),
            build_model_record("C", components=["A"]),
            build_model_record("D", extends=["B"]),
        )
        with reading(store) as session:
            assert set(session.read_model_referrers(build_model_id("A"))) == {
                build_model_id("B"),
                build_model_id("C"),
            }
            assert list(session.read_model_referrers(build_model_id("D"))) == []

    @pytest.mark.parametrize("kind", ["extends", "components"])
    def test_a_referenced_model_is_not_deleted_before_its_referrers(
        self, store: GraphStore, kind: str
    ) -> None:
        referring = (
            build_model_record("B", extends=["A"])
            if kind == "extends"
            else build_model_record("B", components=["A"])
        )
        put(store, build_model_record("A"), referring)
        with pytest.raises(ModelReferenced) as caught:
            _delete(store, "A")
        assert caught.value.model_id == build_model_id("A")
        assert caught.value.referrers == (build_model_id("B"),)
        _delete(store, "B")
        _delete(store, "A")
        with reading(store) as session:
            assert list(session.read_models(after=0, limit=9)) == []

    def test_models_that_refer_to_each_other_are_deleted_together(self, store: GraphStore) -> None:
        put(store, build_model_record("A"), build_model_record("B", extends=["A"]))
        _delete(store, "A", "B")
        with reading(store) as session:
            assert list(session.read_models(after=0, limit=9)) == []

    def test_deleting_an_absent_model_deletes_none(self, store: GraphStore) -> None:
        put(store, build_model_record("A"))
        with pytest.raises(ModelNotFound) as caught:
            _delete(store, "A", "X")
        assert caught.value.model_ids == (build_model_id("X"),)
        with reading(store) as session:
            assert session.read_model(build_model_id("A")) is not None

    def test_twins_survive_their_model_and_keep_its_labels(self, store: GraphStore) -> None:
        put(store, build_model_record("Space"), build_model_record("Room", extends=["Space"]))
        put(store, build_twin_record("t", model="Room"))
        _delete(store, "Room", "Space")
        for label in ("Twin", "Room", "Space", build_model_id("Room"), build_model_id("Space")):
            assert _found(store, label) == {"t"}, label
        with reading(store) as session:
            assert session.read_twin("t") is not None
            assert build_model_id("Room") in session.read_model_ids()
        assert _descendants(store, "Space") == {build_model_id("Space"), build_model_id("Room")}
        put(store, build_twin_record("t", model="Room", changed=1))
        assert _found(store, "Space") == {"t"}

    def test_a_model_uploaded_again_revives_its_twins_with_its_new_ancestors(
        self, store: GraphStore
    ) -> None:
        put(store, build_model_record("Old"), build_model_record("Room", extends=["Old"]))
        put(store, build_twin_record("t", model="Room"))
        _delete(store, "Room")
        put(store, build_model_record("New"), build_model_record("Room", extends=["New"]))
        assert _found(store, "New") == {"t"}
        assert _found(store, "Old") == set()
        assert _descendants(store, "Old") == {build_model_id("Old")}

    def test_a_twin_may_name_a_model_that_was_never_stored(self, store: GraphStore) -> None:
        put(store, build_twin_record("t", model="Ghost"))
        assert _found(store, "Ghost") == {"t"}
        with reading(store) as session:
            assert session.read_model_ids() == {build_model_id("Ghost")}
            assert session.read_model(build_model_id("Ghost")) is None
        put(store, build_model_record("Space"), build_model_record("Ghost", extends=["Space"]))
        assert _found(store, "Space") == {"t"}

    def test_the_schema_version_is_new_after_each_change_of_a_model(
        self, store: GraphStore, other: GraphStore
    ) -> None:
        def version() -> int:
            with reading(store) as session, reading(other) as second:
                assert session.read_schema_version() == second.read_schema_version()
                return session.read_schema_version()

        def delete(transaction: GraphTransaction) -> None:
            transaction.delete_models([build_model_id("A")])

        seen = [version()]
        put(store, build_model_record("A"))
        seen.append(version())
        run(store, lambda t: t.set_decommissioned(build_model_id("A"), True))
        seen.append(version())
        run(store, delete)
        seen.append(version())
        put(store, build_model_record("A"))
        seen.append(version())
        assert len(set(seen)) == 5, seen

    def test_the_schema_version_rests_while_models_do(self, store: GraphStore) -> None:
        put(store, build_model_record("A"))
        with reading(store) as session:
            before = session.read_schema_version()
        put(store, build_twin_record("t", model="A"))
        with pytest.raises(ModelAlreadyExists):
            put(store, build_model_record("A"))
        with reading(store) as session:
            assert session.read_schema_version() == before

    def test_a_session_knows_in_each_snapshot_which_schema_it_has(
        self, store: GraphStore, other: GraphStore
    ) -> None:
        put(store, build_twin_record("t", model="A"))
        with reading(store) as session:

            def has(version: int) -> bool:
                try:
                    with session.short_snapshot(5_000, 10.0):
                        assert session.read_twin("t") is not None
                        return session.has_schema(version)
                except CannotRun:
                    with session.snapshot():
                        return session.has_schema(version)

            for number in range(3):
                version = session.read_schema_version()
                assert has(version)
                put(other, build_twin_record(f"u{number}", model="A"))
                assert has(version)
                assert has(version)
                put(other, build_model_record(f"B{number}"))
                assert not has(version)
                assert not has(version)

    def test_a_model_uploaded_and_read_in_one_work_is_seen(self, store: GraphStore) -> None:
        def apply(transaction: GraphTransaction) -> tuple[bool, bool]:
            before = transaction.read_schema_version()
            transaction.put_models([build_model_record("A")])
            stored = transaction.read_model(build_model_id("A")) is not None
            return stored, transaction.read_schema_version() != before

        assert run(store, apply) == (True, True)

    def test_models_are_nodes_when_asked_for(self, store: GraphStore) -> None:
        put(store, build_model_record("A"), build_model_record("B"), build_twin_record("t", "A"))
        assert _found(store, "Model") == {build_model_id("A"), build_model_id("B")}
        with reading(store) as session:
            assert {node.id for node in session.scan_nodes(None)} == {"t"}
