"""The settings tree, and loading it from file and environment."""

from __future__ import annotations

from twinframe.settings.access import (
    ApiKeySettings,
    AuthenticationSettings,
    AuthorizationSettings,
    McpSettings,
    TokenServerSettings,
)
from twinframe.settings.billing import BillingSettings
from twinframe.settings.control import (
    ControlSettings,
    HostingSettings,
    ProceduresSettings,
    ResourcesSettings,
)
from twinframe.settings.jobs import JobsSettings
from twinframe.settings.load import CONFIG_VARIABLE, Configuration, load_settings
from twinframe.settings.section import (
    LOOPBACK_BINDS,
    Bytes,
    Count,
    Seconds,
    Section,
    TlsSettings,
    check_endpoint,
    check_named_endpoint,
)
from twinframe.settings.sources import PluginSection, PluginSections
from twinframe.settings.tree import (
    BulkSettings,
    CorsSettings,
    GraphSettings,
    JsonSettings,
    LoggingSettings,
    MemorySettings,
    QuerySettings,
    SecretSettings,
    ServerSettings,
    Settings,
    StorageSettings,
)

__all__ = [
    "CONFIG_VARIABLE",
    "LOOPBACK_BINDS",
    "ApiKeySettings",
    "AuthenticationSettings",
    "AuthorizationSettings",
    "BillingSettings",
    "BulkSettings",
    "Bytes",
    "Configuration",
    "ControlSettings",
    "CorsSettings",
    "Count",
    "GraphSettings",
    "HostingSettings",
    "JobsSettings",
    "JsonSettings",
    "LoggingSettings",
    "McpSettings",
    "MemorySettings",
    "PluginSection",
    "PluginSections",
    "ProceduresSettings",
    "QuerySettings",
    "ResourcesSettings",
    "Seconds",
    "SecretSettings",
    "Section",
    "ServerSettings",
    "Settings",
    "StorageSettings",
    "TlsSettings",
    "TokenServerSettings",
    "check_endpoint",
    "check_named_endpoint",
    "load_settings",
]
