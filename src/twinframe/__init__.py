"""The names that plugin authors import from twinframe, a digital-twin graph service."""

from __future__ import annotations

from importlib.metadata import version

from pluggy import HookimplMarker

__all__ = ["__version__", "hookimpl"]

__version__ = version("twinframe")

hookimpl = HookimplMarker("twinframe")
"""Marks a function of a plugin as an implementation of one of `twinframe.hooks.specs`."""
