"""The entry point of this distribution: its hooks. Each type has a module of its own."""

from __future__ import annotations

from collections.abc import Sequence

from twinframe import hookimpl
from twinframe.resourcetypes.base import ResourceType
from twinframe_resource_types.assembler import AssemblerType
from twinframe_resource_types.compass import CompassType
from twinframe_resource_types.flow import FlowType
from twinframe_resource_types.graph import GraphType


@hookimpl
def twinframe_resource_types() -> Sequence[ResourceType]:
    """The four standard types."""
    return (GraphType(), FlowType(), AssemblerType(), CompassType())
