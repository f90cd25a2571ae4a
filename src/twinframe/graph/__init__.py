"""The data plane: use cases over one graph. It knows no transport and imports no store engine."""

from __future__ import annotations

from twinframe.graph.graph import Graph
from twinframe.graph.queries import QueryPage

__all__ = ["Graph", "QueryPage"]
