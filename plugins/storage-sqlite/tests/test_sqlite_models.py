"""Models on SQLite: closure, what is kept of deleted models, and what is let go."""

from __future__ import annotations

import tempfile
from dataclasses import dataclass

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from twinframe.errors import ModelReferenced
from twinframe.query.algebra import LabelName
from twinframe.storage.base import GraphTransaction
from twinframe.testing.contracts.base import put, reading, run
from twinframe.testing.factories import build_model_id, build_model_record, build_twin_record
from twinframe_storage_sqlite.settings import SqliteSettings
from twinframe_storage_sqlite.store import SqliteGraphStore
from twinframe_storage_sqlite.transaction import SqliteTransaction

NAMES = "ABCDEF"


@dataclass(frozen=True)
class PutModels:
    """Store those of these models (name, names it extends) that are not stored yet."""

    uploads: list[tuple[str, list[str]]]


@dataclass(frozen=True)
class DeleteModels:
    """Delete those of these models that are stored, unless others refer to them."""

    names: frozenset[str]


@dataclass(frozen=True)
class PutTwin:
    """Store the one twin of this model."""

    name: str


@dataclass(frozen=True)
class DeleteTwin:
    """Delete the one twin of this model."""

    name: str


Step = PutModels | DeleteModels | PutTwin | DeleteTwin

names = st.sampled_from(NAMES)


@st.composite
def draw_uploads(draw: st.DrawFn) -> list[tuple[str, list[str]]]:
    """Models of which each extends only later letters, so that there is no cycle."""
    chosen = draw(st.lists(names, max_size=6, unique=True))
    return [
        (name, sorted(above for above in draw(st.sets(names, max_size=3)) if above > name))
        for name in chosen
    ]


steps = st.lists(
    st.one_of(
        draw_uploads().map(PutModels),
        st.frozensets(names, min_size=1, max_size=3).map(DeleteModels),
        names.map(PutTwin),
        names.map(DeleteTwin),
    ),
    max_size=12,
)


def read_rows(store: SqliteGraphStore) -> set[str]:
    with reading(store) as session:
        return set(session.read_model_ids())


def build_above(extends: dict[str, list[str]], name: str) -> set[str]:
    """What a model inherits from, itself included, computed without the store."""
    found = {name}
    for above in extends.get(name, ()):
        found |= build_above(extends, above)
    return found


class Expected:
    """What a graph should hold after the same steps, computed without SQL."""

    def __init__(self) -> None:
        self.extends: dict[str, list[str]] = {}
        self.stored: set[str] = set()
        self.twins: set[str] = set()

    def find_known(self) -> set[str]:
        """The models that are stored, or named by a twin or by one that is known."""
        known: set[str] = set()
        for name in self.stored | self.twins:
            known |= build_above(self.extends, name)
        return known

    def find_twins(self, label: str) -> set[str]:
        """The twins (named as their models) that have the label."""
        return {twin for twin in self.twins if label in build_above(self.extends, twin)}

    def take(self, step: Step, store: SqliteGraphStore) -> None:
        """Do one step here and in the store."""
        match step:
            case PutModels(uploads):
                new = [(name, above) for name, above in uploads if name not in self.stored]
                put(store, *(build_model_record(name, extends=above) for name, above in new))
                self.extends.update(new)
                self.stored.update(name for name, _ in new)
            case DeleteModels(names):
                self._delete_models(names & self.stored, store)
            case PutTwin(name):
                put(store, build_twin_record(name, model=name))
                self.twins.add(name)
            case DeleteTwin(name) if name in self.twins:
                run(store, lambda transaction: transaction.delete_twin(name))
                self.twins.discard(name)
            case _:
                return
        for forgotten in set(self.extends) - self.find_known():
            del self.extends[forgotten]

    def _delete_models(self, going: frozenset[str], store: SqliteGraphStore) -> None:
        if any(going & set(self.extends[name]) for name in self.stored - going):
            return
        ids = [build_model_id(name) for name in sorted(going)]
        run(store, lambda transaction: transaction.delete_models(ids))
        self.stored -= going


@settings(max_examples=60, deadline=None)
@given(steps)
def test_closure_and_kept_rows_are_those_of_a_plain_computation(script: list[Step]) -> None:
    expected = Expected()
    with tempfile.TemporaryDirectory() as place:
        store = SqliteGraphStore(SqliteSettings(directory=place, durability="relaxed"), "graph")
        store.open()
        for step in script:
            expected.take(step, store)
        assert store.verify() == []
        with reading(store) as session:
            for name in NAMES:
                found = {node.id for node in session.scan_nodes(LabelName(build_model_id(name)))}
                assert found == expected.find_twins(name)
        assert read_rows(store) == {build_model_id(name) for name in expected.find_known()}
        store.close()


def test_twins_of_a_deleted_model_stay_findable_until_the_last_is_gone(
    store: SqliteGraphStore,
) -> None:
    put(
        store,
        build_model_record("Space"),
        build_model_record("Room", extends=["Space"], components=["Thing"]),
        build_twin_record("a", model="Room"),
    )
    run(store, lambda t: t.delete_models(["dtmi:test:Room;1", "dtmi:test:Space;1"]))
    with reading(store) as session:
        assert [node.id for node in session.scan_nodes(LabelName("Space"))] == ["a"]
        assert session.read_models(after=0, limit=10) == []
    assert read_rows(store) == {"dtmi:test:Room;1", "dtmi:test:Space;1"}
    run(store, lambda t: t.delete_twin("a"))
    assert read_rows(store) == set()
    assert store.verify() == []


def test_a_model_uploaded_again_takes_its_twins_back_under_its_new_parents(
    store: SqliteGraphStore,
) -> None:
    put(
        store,
        build_model_record("Space"),
        build_model_record("Room", extends=["Space"]),
        build_twin_record("a", model="Room"),
    )
    run(store, lambda t: t.delete_models(["dtmi:test:Room;1"]))
    put(store, build_model_record("Asset"), build_model_record("Room", extends=["Asset"]))
    with reading(store) as session:
        assert [node.id for node in session.scan_nodes(LabelName("Asset"))] == ["a"]
        assert list(session.scan_nodes(LabelName("Space"))) == []
        models = session.read_models(after=0, limit=10)
    assert [model.model_id for model in models] == [
        "dtmi:test:Space;1",
        "dtmi:test:Asset;1",
        "dtmi:test:Room;1",
    ]
    assert [model.position for model in models] == [1, 3, 4]


def test_those_below_a_model_uploaded_again_inherit_from_its_new_parents(
    store: SqliteGraphStore,
) -> None:
    put(
        store,
        build_model_record("Root"),
        build_model_record("Space", extends=["Root"]),
        build_model_record("Room", extends=["Space"]),
        build_twin_record("a", model="Room"),
    )
    run(store, lambda t: t.delete_models(["dtmi:test:Room;1", "dtmi:test:Space;1"]))
    put(store, build_model_record("Asset"), build_model_record("Space", extends=["Asset"]))
    with reading(store) as session:
        (node,) = session.read_nodes(["a"]).values()
    assert {"Room", "Space", "Asset"} <= node.labels
    assert "Root" not in node.labels
    assert store.verify() == []


def test_verifying_finds_a_closure_that_does_not_follow_the_references(
    store: SqliteGraphStore,
) -> None:
    put(store, build_model_record("Space"), build_model_record("Room", extends=["Space"]))

    def damage(transaction: GraphTransaction) -> None:
        assert isinstance(transaction, SqliteTransaction)
        transaction.read_all("DELETE FROM interface_closure WHERE ancestor <> descendant")

    run(store, damage)
    assert [finding for finding in store.verify() if "closure: missing" in finding]
    run(store, lambda t: t.delete_models(["dtmi:test:Room;1"]))


def test_a_position_is_never_given_twice(store: SqliteGraphStore) -> None:
    put(store, build_model_record("A"))
    run(store, lambda t: t.delete_models(["dtmi:test:A;1"]))
    put(store, build_model_record("B"))
    with reading(store) as session:
        assert [model.position for model in session.read_models(after=0, limit=10)] == [2]


def test_a_referenced_model_cannot_go_without_those_that_name_it(store: SqliteGraphStore) -> None:
    put(
        store,
        build_model_record("Part"),
        build_model_record("Whole", components=["Part"]),
        build_model_record("Sub", extends=["Whole"]),
    )
    with pytest.raises(ModelReferenced) as caught:
        run(store, lambda t: t.delete_models(["dtmi:test:Part;1", "dtmi:test:Sub;1"]))
    assert caught.value.referrers == ("dtmi:test:Whole;1",)
    run(store, lambda t: t.delete_models([build_model_id(x) for x in ("Part", "Whole", "Sub")]))
    assert read_rows(store) == set()
