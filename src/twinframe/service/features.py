"""Imports optional parts of a service only when the settings turn them on.

PERF: all imports inside of functions that composing needs are here. The control plane takes 0.1 s
of CPU and 13 MiB, tokens 0.03 s and 9 MiB, hosting 0.015 s: a service without them does not pay for
that.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from twinframe.settings import Settings

if TYPE_CHECKING:
    from twinframe.access.gate import Gate
    from twinframe.access.rates import CallerRates
    from twinframe.control.hosting.service import HostingService
    from twinframe.graph.delivery.endpoints import Endpoints
    from twinframe.hooks.installation import Installation
    from twinframe.http.bodies import Bodies
    from twinframe.runtime.instruments.base import Instruments
    from twinframe.service.control import MountedControlService


def load_features(settings: Settings) -> None:
    """Import the parts that these settings turn on.

    Call it before a fork, so that memory is shared.
    """
    if settings.authentication.asks and settings.authentication.takes_tokens:
        import twinframe.access.authentication.build
    if settings.control.enabled:
        import twinframe.service.control
    if settings.hosting.enabled:
        import twinframe.control.hosting.service  # noqa: F401  (as those above; stated once for all names)


def build_control(installation: Installation, rates: CallerRates | None) -> MountedControlService:
    """Build the control plane beside the graph API. Raises `ConfigurationError`."""
    from twinframe.service import control

    return control.MountedControlService(installation, rates)


def build_hosting(
    installation: Installation,
    gate: Gate | None,
    instruments: Instruments | None,
    rates: CallerRates | None,
    endpoints: Endpoints,
    bodies: Bodies,
) -> HostingService:
    """Build the hosted graphs of this process."""
    from twinframe.control.hosting import service

    return service.HostingService(installation, gate, instruments, rates, endpoints, bodies)


def check_control(settings: Settings) -> None:
    """Check that the control plane can authenticate its callers. Raises `SettingsError`."""
    from twinframe.service import control

    control.check_control(settings)


def check_control_store(installation: Installation, workers: int) -> None:
    """Check that the control plane's store can be opened. `ConfigurationError`, `StorageError`."""
    from twinframe.service import control

    control.check_control_store(installation, workers)


def check_hosting(installation: Installation) -> None:
    """Check that graphs can be hosted, if hosting is on. Raises `SettingsError`."""
    if installation.settings.hosting.enabled:
        from twinframe.control.hosting import service

        service.check_hosting(installation)
