"""Builds `language.json`, the keywords and functions of both query languages for the page's
editor.
"""

from __future__ import annotations

import orjson

from twinframe.model.values import JsonValue
from twinframe.query.cypher.vocabulary import (
    Vocabulary,
    build_cypher_vocabulary,
    build_vendor_vocabulary,
)


def render_language() -> bytes:
    """The document, in the form of `LanguageWords` of the page's `api/types`."""
    return orjson.dumps(
        {
            "cypher": _build_dialect(build_cypher_vocabulary()),
            "adt": _build_dialect(build_vendor_vocabulary()),
        }
    )


def _build_dialect(vocabulary: Vocabulary) -> JsonValue:
    return {
        "keywords": list(vocabulary.keywords),
        "refused": list(vocabulary.refused),
        "functions": [
            {
                "name": word.name,
                "signature": word.signature,
                "documentation": word.documentation,
                "group": word.group,
                "aliases": list(word.aliases),
                "aggregate": word.aggregate,
            }
            for word in vocabulary.functions
        ],
    }
