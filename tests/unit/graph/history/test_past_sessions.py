"""Each read of an earlier state answers what it answered then, on every store with history."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.unit.graph.events import test_outbox_reading as histories
from twinframe.graph.events import differences
from twinframe.graph.history import past
from twinframe.graph.history.gone import GoneCache
from twinframe.graph.history.past import PastSession
from twinframe.graph.models.models import render_model
from twinframe.query.algebra import Direction, LabelName
from twinframe.storage.base import GraphSession
from twinframe.testing.contracts.base import reading
from twinframe.testing.factories import ROOM, SENSOR, SPACE, build_interface

LAMP, BASE = "dtmi:test:Lamp;1", "dtmi:test:Base;1"
TWINS = [*"abcz"]
MODELS = [LAMP, BASE, ROOM, SENSOR, SPACE]
ACTIONS = st.one_of(
    histories.ACTIONS,
    st.tuples(st.just("upload"), st.sampled_from([(), (BASE,), (SPACE,)])),
    st.tuples(st.just("decommission")),
    st.tuples(st.just("unload"), st.sampled_from([LAMP, BASE])),
    st.tuples(st.just("lamp"), histories.IDS),
)


class Player(histories.Player):
    """Also changes models."""

    def __init__(self, store: Any) -> None:
        super().__init__(store)
        self.world.do(self.world.graph.models.create_models([build_interface(BASE)]))

    def upload(self, extends: tuple[str, ...]) -> None:
        documents = [build_interface(LAMP, extends=extends)]
        self.world.do(self.world.graph.models.create_models(documents))

    def decommission(self) -> None:
        patch = [{"op": "replace", "path": "/decommissioned", "value": True}]
        self.world.do(self.world.graph.models.decommission_model(LAMP, patch))

    def unload(self, model_id: str) -> None:
        self.world.do(self.world.graph.models.delete_model(model_id))

    def lamp(self, twin_id: str) -> None:
        self.world.put(twin_id, LAMP)


def build_hop(hop: Any) -> Any:
    return hop.origin, hop.reached, hop.relationship.source, hop.relationship.id


def page(fetch: Any) -> list[Any]:
    """All items of a listing, three at a time."""
    found: list[Any] = []
    after = None
    while some := fetch(after):
        found += [listed.item for listed in some]
        after = some[-1].key
    return found


def dump(session: GraphSession) -> Any:
    """What every read of the state answers, in an order of our own where there is none."""
    nodes = {node.id: node for node in session.scan_nodes(None)}
    edges = [(each.source, each.id, each) for each in session.scan_relationships(())]
    models = session.read_models(after=0, limit=99)
    paged: list[Any] = []
    while some := session.read_models(after=paged[-1].position if paged else 0, limit=2):
        paged += some
    assert paged == list(models)
    return {
        "nodes": nodes,
        "labelled": {
            label: sorted(node.id for node in session.scan_nodes(LabelName(label)))
            for label in ("Lamp", "Base", "Space", "Room", "Model")
        },
        "edges": sorted(edges, key=lambda each: each[:2]),
        "typed": sorted((x.source, x.id) for x in session.scan_relationships(["watchedBy"])),
        "read": session.read_nodes([*TWINS, "nobody"]),
        "twins": [session.read_twin(twin_id) for twin_id in TWINS],
        "models of twins": [session.read_twin_model(twin_id) for twin_id in TWINS],
        "has": [session.has_twin(twin_id) for twin_id in TWINS],
        "one": [session.read_relationship(a, r) for a in TWINS for r in ("r1", "r2")],
        "out": [
            page(lambda k, t=t, n=n: session.read_relationships(t, name=n, after=k, limit=1))
            for t in TWINS
            for n in (None, "watchedBy")
        ],
        "in": [
            sorted(
                page(lambda k, t=t: session.read_incoming(t, after=k, limit=1)),
                key=lambda item: (item.source_id, item.relationship_id),
            )
            for t in TWINS
        ],
        "hops": [
            sorted(map(build_hop, session.read_hops(some, direction, types)))
            for some in (["a"], TWINS)
            for direction in Direction
            for types in ((), ["watchedBy"])
        ],
        "all twins": list(session.iterate_twins()),
        "all edges": list(session.iterate_relationships()),
        "count": session.count_twins(),
        "models": [render_model(each, with_definition=True) for each in models],
        "records": [session.read_model(each) for each in MODELS],
        "referrers": sorted(session.read_model_referrers(BASE)),
    }


@pytest.mark.parametrize("kind", ["memory", "sqlite"])
@pytest.mark.parametrize("most", [0, 20_000])
@settings(
    deadline=None,
    max_examples=40,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@given(actions=st.lists(ACTIONS, min_size=1, max_size=14), bits=st.sampled_from([0, 1]))
def test_an_earlier_state_is_the_one_that_was(
    monkeypatch: pytest.MonkeyPatch, kind: str, most: int, actions: list[Any], bits: int
) -> None:
    with monkeypatch.context() as patched, histories.open_store(kind) as store:
        patched.setattr(differences, "getrandbits", lambda _: bits)
        patched.setattr(past, "_MOST_CHANGED", most)
        player = Player(store)
        dumps: dict[int, Any] = {}
        first = 0
        for action in actions:
            # A deletion of a model before the kept range is forgotten with its row.
            if action[0] not in ("read", "prune"):
                player.play(action, {})
            with reading(store) as session:
                first, last = session.read_event_bounds()
                dumps[last] = dump(session)
        with reading(store) as session, session.snapshot():
            for position, expected in dumps.items():
                assert position >= first - 1
                found = dump(PastSession(session, position))
                for name, value in expected.items():
                    assert found[name] == value, name


def list_incoming(session: GraphSession, limit: int = 7) -> list[Any]:
    return page(lambda after: session.read_incoming("hub", after=after, limit=limit))


@pytest.mark.parametrize("kind", ["memory", "sqlite"])
def test_incoming_pages_have_the_order_that_they_had_and_read_about_a_page(
    monkeypatch: pytest.MonkeyPatch, kind: str
) -> None:
    with histories.open_store(kind) as store:
        player = Player(store)
        world, edges = player.world, player.world.graph.relationships
        sources = [f"s{number * 37 % 60:02}" for number in range(60)]  # not in the order of ids
        for twin_id in ("hub", "other", *sources):
            world.put(twin_id, SENSOR if twin_id in ("hub", "other") else ROOM)
        for number, source in enumerate(sources):
            world.relate(source, "r", "hub", "watchedBy" if number % 3 else "relatedTo")
            world.relate(source, "own", "other")
        with reading(store) as session:
            position, expected = session.read_event_bounds()[1], list_incoming(session)

        for source in sources[::9]:
            world.do(edges.delete_relationship(source, "r"))
        world.relate(sources[0], "r", "hub", "relatedTo")  # again
        world.relate(sources[2], "r", "other")
        for number, source in enumerate(sources):
            world.relate(source, "new", "hub", "relatedTo" if number % 2 else "watchedBy")
        with reading(store) as session, session.snapshot():
            for limit in (1, 7, 500):
                assert list_incoming(PastSession(session, position), limit) == expected

            read: list[Any] = []
            known = type(session).read_first_changes

            def count(self: Any, keys: Any, *, after: int) -> Any:
                read.append(keys)
                return known(self, keys, after=after)

            monkeypatch.setattr(type(session), "read_first_changes", count)
            PastSession(session, position).read_incoming("hub", after=None, limit=5)
            gone = len(sources[::9])
            assert sum(map(len, read)) <= gone + 1 + 4 * 5, read

            read.clear()
            cache = GoneCache()
            for _ in range(2):  # all pages together look up once what is gone
                assert expected == page(
                    lambda after: PastSession(session, position, cache).read_incoming(
                        "hub", after=after, limit=5
                    )
                )
            looked_up = [key for keys in read for key in keys if key[0] in sources[::9]]
            assert [looked_up.count((source, "r")) for source in sources[::9]] == [1] * gone
            monkeypatch.undo()

        # A page goes on behind the one before, whatever is deleted in between.
        found: list[Any] = []
        after = None
        while True:
            with reading(store) as session, session.snapshot():
                past_session = PastSession(session, position, cache)
                some = past_session.read_incoming("hub", after=after, limit=7)
            if not some:
                break
            found += [listed.item for listed in some]
            after = some[-1].key
            for listed in (some[0], some[-1]):
                source, own = listed.item.source_id, listed.item.relationship_id
                with reading(store) as session:
                    is_there = session.read_relationship(source, own) is not None
                if is_there:
                    world.do(edges.delete_relationship(source, own))
        assert found == expected
