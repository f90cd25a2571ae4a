"""A resource type of one's own, whole: the smallest one of the recipe."""

from collections.abc import Sequence

from twinframe import hookimpl
from twinframe.hooks.resource_types.base import ProvisionContext, Provisioned, ResourceType


class LakeType(ResourceType):
    """Lakes, which are there already."""

    name = "Acme.Lake"

    async def provision(self, context: ProvisionContext) -> Provisioned:
        """Say where it is."""
        return Provisioned(f"https://{context.name.resource_id}.lakes.example")


@hookimpl
def twinframe_resource_types() -> Sequence[ResourceType]:
    """This type."""
    return (LakeType(),)
