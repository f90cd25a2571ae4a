"""Attacks by writing: patches, transactions and models, small on the wire and large here."""

from __future__ import annotations

from itertools import count
from typing import Any

from tests.reliability.attacks.attack import Attack, Target
from tests.reliability.attacks.world import LARGE, LARGE_MODEL

_TEXT = "x" * (1024 * 1024 - 4096)
_NUMBERS = count()
_SMALL = {"op": "add", "path": "/$metadata/text/sourceTime", "value": "2024-01-31T12:00:00Z"}


def _patch(target: Target, twin: int, operations: list[dict[str, Any]]) -> None:
    target.call("PATCH", f"/digitaltwins/large{twin % LARGE}", operations)


def _restore(target: Target, twin: int) -> None:
    document = {"$metadata": {"$model": LARGE_MODEL["@id"]}, "text": _TEXT}
    target.call("PUT", f"/digitaltwins/large{twin % LARGE}", document)


def patch_one_property_often(target: Target) -> None:
    """A thousand operations on the one property of a megabyte, which the last one gives back."""
    operations = [{"op": "add", "path": "/text", "value": str(at)} for at in range(999)]

    def act() -> None:
        twin = next(_NUMBERS)
        _patch(target, twin, [*operations, {"op": "add", "path": "/text", "value": _TEXT}])

    target.repeat(act, 3)


def patch_many_twins(target: Target) -> None:
    """Patches of 60 bytes, each to another twin of a megabyte, as many as can wait at once."""
    target.repeat(lambda: _patch(target, next(_NUMBERS), [_SMALL]), 64)


def patch_entries_often(target: Target) -> None:
    """A thousand entries of a map, and the map as a whole between them."""
    operations: list[dict[str, Any]] = []
    for at in range(500):
        whole = {str(entry): "e" for entry in range(20)}
        operations.append({"op": "add", "path": "/entries", "value": whole})
        operations.append({"op": "add", "path": f"/entries/{at}", "value": "entry"})
    target.repeat(lambda: _patch(target, next(_NUMBERS), operations), 8)


def transact_over_large_twins(target: Target) -> None:
    """Transactions of fifteen patches, each of a twin of a megabyte."""

    def act() -> None:
        operations = [
            {"op": "patchTwin", "twinId": f"large{twin}", "patch": [_SMALL]} for twin in range(15)
        ]
        target.call("POST", "/$transaction", {"operations": operations})

    target.repeat(act, 4)


def put_large_over_large(target: Target) -> None:
    """Twins of a megabyte over twins of a megabyte: the event has both."""
    target.repeat(lambda: _restore(target, next(_NUMBERS)), 8)


def patch_with_deep_paths(target: Target) -> None:
    """Paths of thousands of segments that lead nowhere."""
    operations = [{"op": "add", "path": "/entries" + "/a" * 4000, "value": 1} for _ in range(100)]
    target.repeat(lambda: _patch(target, next(_NUMBERS), operations), 4)


def upload_models(target: Target) -> None:
    """Uploads of as many models as one may have, each of a tree of its own."""

    def act() -> None:
        family = next(_NUMBERS)
        models = []
        for at in range(2000):
            base = {"extends": f"dtmi:attack:f{family}:M{at // 20};1"} if at else {}
            contents = [
                {"@type": "Property", "name": f"p{number}", "schema": "double"}
                for number in range(at * 6, at * 6 + 6)
            ]
            models.append(
                {
                    "@context": "dtmi:dtdl:context;3", "@id": f"dtmi:attack:f{family}:M{at};1",
                    "@type": "Interface", "contents": contents, **base,
                }
            )  # fmt: skip
        target.call("POST", "/models", models)

    target.repeat(act, 2)


def put_large_together(target: Target) -> None:
    """Bulk writes of fourteen twins of a megabyte, over those of the write before."""

    def act() -> None:
        number = next(_NUMBERS)
        text = f"{number}{_TEXT}"
        twins = [
            {"$dtId": f"heap{at}", "$metadata": {"$model": LARGE_MODEL["@id"]}, "text": text}
            for at in range(14)
        ]
        target.call("POST", "/digitaltwins", twins)

    target.repeat(act, 3)


def patch_middling_twins(target: Target) -> None:
    """Twins of 100 KB, as many as can wait at once, put and patched in turns."""
    model = {"$model": LARGE_MODEL["@id"]}

    def act() -> None:
        number = next(_NUMBERS) % 400
        entries = {f"k{at}": "e" * 1000 for at in range(100)}
        path = f"/digitaltwins/middling{number}"
        target.call("PUT", path, {"$metadata": model, "entries": entries})
        target.call("PATCH", path, [{"op": "add", "path": "/entries/k1", "value": "f"}])

    target.repeat(act, 64)


def delete_large_twins(target: Target) -> None:
    """Twins of half a megabyte that come and go: the event of each end has the document."""

    def act() -> None:
        path = f"/digitaltwins/passing{next(_NUMBERS)}"
        document = {"$metadata": {"$model": LARGE_MODEL["@id"]}, "text": _TEXT[: 512 * 1024]}
        target.call("PUT", path, document)
        target.call("DELETE", path)

    target.repeat(act, 24)


ATTACKS = (
    Attack("a thousand operations on a property of 1 MB", patch_one_property_often),
    Attack("small patches of large twins at once", patch_many_twins),
    Attack("a thousand operations on a map and its entries", patch_entries_often),
    Attack("transactions over fifteen large twins", transact_over_large_twins),
    Attack("large twins put over large ones", put_large_over_large),
    Attack("patches with paths of thousands of segments", patch_with_deep_paths),
    Attack("uploads of two thousand models", upload_models),
    Attack("fourteen large twins put at once", put_large_together),
    Attack("twins of 100 KB put and patched", patch_middling_twins),
    Attack("twins of 512 KB that come and go", delete_large_twins),
)
