"""The data plane: the use cases over one graph, independent of transport and storage engine."""

from __future__ import annotations

from twinframe.graph.graph import Graph
from twinframe.graph.queries.queries import QueryPage

__all__ = ["Graph", "QueryPage"]
