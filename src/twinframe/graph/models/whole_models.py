"""Renders models with everything that they inherit, for people and programs that show them.

It merges the stored documents, so that an element appears as its author wrote it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Final

import orjson

from twinframe.dtdl import Interface
from twinframe.dtdl.outline import Element, read_elements

_KINDS: Final = ("properties", "relationships", "components", "telemetries", "commands")


def render_whole(interface: Interface, documents: Sequence[Element]) -> bytes:
    """Render a JSON object: `model`, `bases`, and a list of the contents of each kind.

    `documents` are those of the interface and of its ancestors, nearest first; of elements with one
    name the nearest counts. SPEC: kinds and their names are those of Konnektr's answer.
    """
    contents = list(_merge(documents, "contents", "name"))
    model = {**documents[0], "contents": contents}
    if schemas := list(_merge(documents, "schemas", "@id")):
        model["schemas"] = schemas
    found: dict[str, object] = {"model": model, "bases": interface.ancestors}
    for kind in _KINDS:
        named = getattr(interface, kind)
        found[kind] = [element for element in contents if element.get("name") in named]
    return orjson.dumps(found)


def _merge(documents: Iterable[Element], member: str, key: str) -> Iterator[Element]:
    seen: set[object] = set()
    for document in documents:
        for element in read_elements(document.get(member)):
            name = element.get(key)
            if name is None or name not in seen:
                yield element
            seen.add(name)
