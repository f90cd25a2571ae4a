"""Models of an upload in pieces: each behind what it rests on, none larger than it may be."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from twinframe.errors import LimitExceeded, ModelParsingFailed
from twinframe.graph.context import model_cache
from twinframe.graph.models import uploads
from twinframe.graph.models.uploads import PIECE_MODELS, Outline, cut_pieces
from twinframe.testing.contracts.base import reading

edges = st.lists(st.tuples(st.integers(0, 11), st.integers(0, 11)), max_size=30)


@given(edges)
def test_each_model_stands_behind_or_beside_what_it_rests_on(found: list[tuple[int, int]]) -> None:
    rests: dict[int, list[str]] = {}
    for above, below in found:
        rests.setdefault(above, []).append(str(below))
    outlines = [Outline(str(at), tuple(rests.get(at, ())), 100_000) for at in range(12)]
    try:
        pieces = cut_pieces(outlines)
    except LimitExceeded:
        return
    flat = [place for piece in pieces for place in piece]
    assert sorted(flat) == list(range(12))
    of_piece = {place: number for number, piece in enumerate(pieces) for place in piece}
    assert all(of_piece[below] <= of_piece[above] for above, below in found)
    assert all(len(piece) <= 5 for piece in pieces)


def test_a_circle_larger_than_a_piece_is_refused() -> None:
    count = PIECE_MODELS + 1
    outlines = [Outline(str(at), (str((at + 1) % count),), 10) for at in range(count)]
    with pytest.raises(LimitExceeded, match="in a circle"):
        cut_pieces(outlines)


def test_a_long_chain_is_put_in_order_without_depth() -> None:
    outlines = [Outline(str(at), (str(at + 1),), 10) for at in range(20_000)]
    pieces = cut_pieces(outlines)
    assert [place for piece in pieces for place in piece] == list(range(19_999, -1, -1))


def build_tree(count: int) -> list[dict[str, Any]]:
    """Interfaces of which each extends the one at half its place, the last ones first."""
    found = []
    for at in range(count):
        bases = {"extends": f"dtmi:example:M{at // 2};1"} if at else {}
        found.append(
            {
                "@context": "dtmi:dtdl:context;3", "@id": f"dtmi:example:M{at};1",
                "@type": "Interface", **bases,
                "contents": [{"@type": "Property", "name": f"p{at}", "schema": "double"}],
            }
        )  # fmt: skip
    return found[::-1]


def test_an_upload_in_pieces_is_as_one_as_a_whole(
    empty: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    models = build_tree(200)
    monkeypatch.setattr(uploads, "PIECE_MODELS", 7)
    made = empty.do(empty.graph.models.create_models(models))
    assert [b'"dtmi:example:M199;1"' in one for one in made[:2]] == [True, False]
    page = empty.do(empty.graph.models.list_models())
    assert [one.split(b'"')[3] for one in page.items] == [
        one["@id"].encode() for one in models[: len(page.items)]
    ]


def test_what_is_wrong_with_one_piece_refuses_all(
    empty: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    models = build_tree(100)
    models[3]["contents"][0]["schema"] = "nothing"
    monkeypatch.setattr(uploads, "PIECE_MODELS", 7)
    with pytest.raises(ModelParsingFailed):
        empty.do(empty.graph.models.create_models(models))
    assert not empty.do(empty.graph.models.list_models()).items


def test_what_is_kept_of_models_is_bounded(empty: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(model_cache, "_MOST_CONTENTS", 100)
    empty.do(empty.graph.models.create_models(build_tree(60)))
    cache = model_cache.ModelCache()
    most = 0
    with reading(empty.store) as session:
        for at in range(60):
            model = cache.open(session).find(f"dtmi:example:M{at};1")
            assert model is not None
            assert f"p{at}" in model.interface.contents
            most = max(most, len(cache._generation.models))
    assert 1 < most < 20
