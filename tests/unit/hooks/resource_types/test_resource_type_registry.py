"""The registry of resource types."""

from __future__ import annotations

import pytest

from twinframe.errors import InvalidArgument, PluginError
from twinframe.hooks.resource_types.base import ResourceSettings, ResourceType, ResourceTypeRegistry


class Boat(ResourceType):
    name = "Platform.Boat"
    settings_model = ResourceSettings


class Dinghy(ResourceType):
    name = "Platform.Boat"
    settings_model = ResourceSettings


def test_a_type_is_found_by_its_name() -> None:
    boat = Boat()
    assert ResourceTypeRegistry([boat]).find("Platform.Boat") is boat


def test_an_unknown_type_is_refused_with_the_nearest_name() -> None:
    with pytest.raises(InvalidArgument, match=r"Did you mean Platform\.Boat\?"):
        ResourceTypeRegistry([Boat()]).find("Platform.Bot")
    with pytest.raises(InvalidArgument, match=r"Known are: Platform\.Boat\."):
        ResourceTypeRegistry([Boat()]).find("x")


def test_two_types_of_one_name_are_refused_naming_both_classes() -> None:
    with pytest.raises(PluginError, match=r"\.Boat and by .*\.Dinghy"):
        ResourceTypeRegistry([Boat(), Dinghy()])
