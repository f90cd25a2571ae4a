"""The settings: their tree, and how file and environment become it. No value is read at import."""

from __future__ import annotations

from twinframe.settings.load import CONFIG_VARIABLE, Configuration, load_settings
from twinframe.settings.sources import PluginPlace, PluginSection
from twinframe.settings.tree import (
    AuthenticationSettings,
    AuthorizationSettings,
    Bytes,
    CorsSettings,
    Count,
    GraphSettings,
    JsonSettings,
    LoggingSettings,
    McpSettings,
    QuerySettings,
    Seconds,
    SecretSettings,
    Section,
    ServerSettings,
    Settings,
    StorageSettings,
    TlsSettings,
)

__all__ = [
    "CONFIG_VARIABLE",
    "AuthenticationSettings",
    "AuthorizationSettings",
    "Bytes",
    "Configuration",
    "CorsSettings",
    "Count",
    "GraphSettings",
    "JsonSettings",
    "LoggingSettings",
    "McpSettings",
    "PluginPlace",
    "PluginSection",
    "QuerySettings",
    "Seconds",
    "SecretSettings",
    "Section",
    "ServerSettings",
    "Settings",
    "StorageSettings",
    "TlsSettings",
    "load_settings",
]
