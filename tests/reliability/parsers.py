"""One parser of the service fed by atheris: bytes in, a value or the service's own refusal out.

`python -m tests.reliability.parsers query|patch|model|id [libFuzzer's options]`. Any other error,
and more than a second for one input, ends it with a trace and the input.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping

import atheris  # in an environment of its own: `tests.reliability.tools`

with atheris.instrument_imports(include=["twinframe"]):
    from twinframe.dtdl.parser import parse_models
    from twinframe.errors import TwinframeError
    from twinframe.http.paths import check_query, parse_segments
    from twinframe.model.ids import parse_model_id, parse_twin_id
    from twinframe.model.json import JsonLimits, parse_json
    from twinframe.model.patches import apply_patch, parse_patch
    from twinframe.query.language import parse_query


def feed_query(data: bytes) -> None:
    """The text of a query, of either language."""
    parse_query(data.decode("utf-8", "ignore"))


def feed_patch(data: bytes) -> None:
    """A JSON Patch, applied to a small document."""
    operations = parse_patch(parse_json(data, JsonLimits()), max_operations=100)
    apply_patch({"a": {"b": 1}, "c": "text", "d": None}, operations)


def feed_model(data: bytes) -> None:
    """Models as they are uploaded."""
    document = parse_json(data, JsonLimits())
    parse_models(document if isinstance(document, list) else [document])


def feed_id(data: bytes) -> None:
    """A path, its query, and ids in it."""
    segments = parse_segments(b"/" + data)
    check_query(data, segments)
    for segment in segments:
        parse_twin_id(segment)
        parse_model_id(segment)


TARGETS: Mapping[str, Callable[[bytes], None]] = {
    "query": feed_query,
    "patch": feed_patch,
    "model": feed_model,
    "id": feed_id,
}


def main() -> None:
    """Fuzz the parser that the first argument names."""
    feed = TARGETS[sys.argv.pop(1)]

    def feed_one(data: bytes) -> None:
        try:
            feed(data)
        except TwinframeError:
            return

    atheris.Setup([*sys.argv, "-timeout=5"], feed_one)
    atheris.Fuzz()


if __name__ == "__main__":
    main()
