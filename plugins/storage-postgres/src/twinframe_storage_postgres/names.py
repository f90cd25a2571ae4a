"""The names of schemas: one for each graph, and one for the control plane's records."""

from __future__ import annotations

import hashlib
import re
from typing import Final

from twinframe.errors import ConfigurationError

CONTROL_NAME: Final = "control"
"""The store of the control plane's records."""

_LONGEST: Final = 63
_DIGEST: Final = 12
_GRAPH_NAME: Final = re.compile(r"[a-z0-9](?:[a-z0-9_-]{0,198}[a-z0-9])?")


def build_graph_schema(prefix: str, graph: str) -> str:
    """Build the name of the schema of the graph named `graph`.

    Raises `ConfigurationError` for an invalid name.
    """
    if graph == CONTROL_NAME:
        raise ConfigurationError(
            f"Storage__Graph={graph} is not accepted: the control plane keeps its records under "
            "that name."
        )
    return build_schema(prefix, graph)


def build_schema(prefix: str, name: str) -> str:
    """Build the name of a schema; a long one ends in a dot, and a digest of the whole.

    Raises `ConfigurationError` for an invalid name.
    """
    # SEC: the name becomes part of statements, hence letters, digits, `-` and `_` only.
    if not _GRAPH_NAME.fullmatch(name):
        raise ConfigurationError(
            f"Storage__Graph={name!r} is not accepted: 1 to 200 of a-z, 0-9, `-` and `_`, "
            "beginning and ending with a letter or digit."
        )
    # SEC: no short name has a dot, so nobody can choose the name of another's graph.
    return _shorten(f"{prefix}_{name}")


def build_channel(schema: str, topic: str) -> str:
    """Build the name of the channel for notices of a topic of the control records in a schema."""
    return _shorten(f"{schema} {topic}")


def _shorten(name: str) -> str:
    if len(name) <= _LONGEST:
        return name
    digest = hashlib.sha256(name.encode()).hexdigest()[:_DIGEST]
    return f"{name[: _LONGEST - _DIGEST - 1]}.{digest}"
