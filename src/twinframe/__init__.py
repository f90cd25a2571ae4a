"""twinframe, a digital-twin graph service: what plugin authors import, not the service itself."""

from __future__ import annotations

from importlib.metadata import version

from pluggy import HookimplMarker

__all__ = ["__version__", "hookimpl"]

__version__ = version("twinframe")

hookimpl = HookimplMarker("twinframe")
"""Marks a function of a plugin as an implementation of one of `twinframe.hooks.specs`."""
