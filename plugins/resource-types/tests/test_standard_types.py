"""The four standard resource types: what their settings accept, keep and refuse."""

from __future__ import annotations

import asyncio
from typing import Any, cast

import pytest

from twinframe.errors import ValidationFailed
from twinframe.hooks.drivers import RESOURCE_TYPE, load_plugin
from twinframe.hooks.manager import build_manager
from twinframe.hooks.resource_types.base import ProvisionContext, ResourceType, ResourceTypeRegistry
from twinframe.hooks.resource_types.hosting import GraphHost, HostedGraph, ResourceName
from twinframe.hooks.resource_types.prices import Sku
from twinframe.hooks.resource_types.quotas import Quota, QuotaLimit, find_limit
from twinframe.hooks.sections import read_section_class
from twinframe.settings import Section
from twinframe_resource_types.graph import GraphType


@pytest.fixture
def types() -> ResourceTypeRegistry:
    manager = build_manager()
    found: list[ResourceType] = []
    for name in ("graph", "flow", "assembler", "compass"):
        plugin = load_plugin(manager, RESOURCE_TYPE, name)
        section = (read_section_class(plugin) or Section)()
        found += plugin.build_all("twinframe_resource_types", ResourceType, settings=section)
    return ResourceTypeRegistry(found)


def test_the_distribution_brings_the_four_types(types: ResourceTypeRegistry) -> None:
    names = [item.name for item in types]
    assert names == [
        "Platform.Graph",
        "Platform.Flow",
        "Platform.Assembler",
        "Platform.Compass",
    ]


@pytest.mark.parametrize(
    ("name", "settings"),
    [
        ("Graph", {}),
        ("Graph", {"database_name": "main", "max_concurrent_connections": 5}),
        ("Graph", {"backup_retention_days": 0, "enable_audit_logging": True}),
        ("Flow", {"max_concurrent_flows": 1, "retention_days": 90, "processing_mode": "batch"}),
        ("Assembler", {"confidence_threshold": 1, "model_complexity": "high"}),
        ("Assembler", {"confidence_threshold": 0.25, "output_format": "dtdl"}),
        ("Compass", {"anything": ["goes", {"deep": None}]}),
    ],
)
def test_good_settings_are_taken(
    types: ResourceTypeRegistry, name: str, settings: dict[str, Any]
) -> None:
    parsed = types.find(f"Platform.{name}").parse_settings(settings)
    assert parsed.model_dump(include=set(settings)) == settings


@pytest.mark.parametrize(
    ("name", "key", "value"),
    [
        ("Graph", "max_concurrent_connections", 0),
        ("Graph", "max_concurrent_connections", "5"),
        ("Graph", "max_concurrent_connections", True),
        ("Graph", "backup_retention_days", -1),
        ("Graph", "database_name", "../../etc/passwd"),
        ("Graph", "database_name", "a\n"),
        ("Graph", "enable_analytics", 1),
        ("Flow", "max_concurrent_flows", 10_001),
        ("Flow", "retention_days", 1.5),
        ("Flow", "processing_mode", ""),
        ("Assembler", "confidence_threshold", 1.01),
        ("Assembler", "confidence_threshold", float("nan")),
        ("Assembler", "output_format", 3),
    ],
)
def test_a_wrong_setting_is_refused_naming_its_key(
    types: ResourceTypeRegistry, name: str, key: str, value: object
) -> None:
    with pytest.raises(ValidationFailed) as caught:
        types.find(f"Platform.{name}").parse_settings({key: value})  # type: ignore[dict-item]  # wrong on purpose
    (detail,) = caught.value.details
    assert detail.message.startswith(f"{key}: ")


def test_all_wrong_settings_are_told_at_once(types: ResourceTypeRegistry) -> None:
    with pytest.raises(ValidationFailed) as caught:
        types.find("Platform.Flow").parse_settings({"retention_days": 0, "processing_mode": ""})
    assert len(caught.value.details) == 2


def test_unknown_settings_are_kept(types: ResourceTypeRegistry) -> None:
    parsed = types.find("Platform.Graph").parse_settings({"colour": {"of": ["the", 1]}})
    assert parsed.model_extra == {"colour": {"of": ["the", 1]}}


@pytest.mark.parametrize(
    ("before", "after"),
    [("main", "main"), ("main", ""), ("", ""), ("main", "other"), ("", "other")],
)
def test_settings_that_leave_the_database_name_out_ask_for_no_other(
    types: ResourceTypeRegistry, before: str, after: str
) -> None:
    graph = types.find("Platform.Graph")
    known, wanted = (
        graph.parse_settings({"database_name": name} if name else {}) for name in (before, after)
    )
    if after != "other":
        graph.check_change(known, wanted)
        return
    with pytest.raises(ValidationFailed) as caught:
        graph.check_change(known, wanted)
    assert caught.value.details[0].message.startswith("database_name: ")


def test_a_dearer_graph_is_allowed_no_less(types: ResourceTypeRegistry) -> None:
    limits = types.find("Platform.Graph").quotas()
    for quota in Quota:
        allowed = [find_limit(limits, sku, quota) for sku in Sku]
        assert allowed[0] is not None, quota
        numbers = [float("inf") if each is None else each for each in allowed]
        assert numbers == sorted(numbers), quota
    assert not [each for each in limits if each.sku is Sku.ENTERPRISE]


def test_a_graph_includes_no_more_than_it_is_allowed(types: ResourceTypeRegistry) -> None:
    kind = types.find("Platform.Graph")
    included = {(price.sku, price.meter.value): price.included for price in kind.prices()}
    for limit in kind.quotas():
        assert included.get((limit.sku, limit.quota.value), 0) <= limit.limit


def test_a_graph_is_hosted_with_the_limits_of_what_it_holds_and_does() -> None:
    asked: list[HostedGraph] = []

    class Host:
        async def check(self, graph: HostedGraph) -> str | None:
            asked.append(graph)
            return None

    async def step(_name: str) -> None:
        return

    limits = (QuotaLimit(Sku.PRO, Quota.RESOURCES, 1), QuotaLimit(Sku.PRO, Quota.TWINS, 2))
    context = ProvisionContext(
        name=ResourceName("one", "1"),
        project_id="prj",
        title="One",
        sku=Sku.PRO,
        settings_json="{}",
        settings={},
        operation_id="op",
        attempt=1,
        fence=1,
        step=step,
        graphs=cast("GraphHost", Host()),
        limits=limits,
    )
    assert asyncio.run(GraphType().health(context)) is None
    assert [(graph.sku, graph.limits) for graph in asked] == [(Sku.PRO, limits[1:])]
