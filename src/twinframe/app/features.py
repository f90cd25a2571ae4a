"""The parts of a service that settings turn on, imported where they are on. It decides nothing.

PERF: all imports inside of functions that composing needs stand here. The control plane takes
0.1 s of CPU and 13 MiB, tokens 0.03 s and 9 MiB, hosting 0.015 s: who has them off does not pay.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from twinframe.settings import AuthenticationSettings, Settings

if TYPE_CHECKING:
    from twinframe.admission.rates import CallerRates
    from twinframe.app.control import MountedControlService
    from twinframe.app.hosting import HostingService
    from twinframe.app.installation import Installation
    from twinframe.authentication.gate import Gate
    from twinframe.authentication.port import Authenticator
    from twinframe.graph.delivery.endpoints import Endpoints
    from twinframe.instruments.base import Instruments
    from twinframe.web.bodies import Bodies


def load_features(settings: Settings) -> None:
    """Import what these settings turn on. Before a fork: then it is in memory once."""
    if settings.authentication.asks and settings.authentication.takes_tokens:
        import twinframe.authentication.build
    if settings.control.enabled:
        import twinframe.app.control
    if settings.hosting.enabled:
        import twinframe.app.hosting  # noqa: F401  (as those above; told once for all names)


def build_token_authenticator(
    settings: AuthenticationSettings, audiences: tuple[str, ...]
) -> Authenticator:
    """The authenticator of bearer tokens. Raises `SettingsError`, `ValueError`."""
    from twinframe.authentication import build

    return build.build_token_authenticator(settings, audiences)


def build_control(installation: Installation, rates: CallerRates | None) -> MountedControlService:
    """The control plane beside the graph API. Raises `ConfigurationError`."""
    from twinframe.app import control

    return control.MountedControlService(installation, rates)


def build_hosting(
    installation: Installation,
    gate: Gate | None,
    instruments: Instruments | None,
    rates: CallerRates | None,
    endpoints: Endpoints,
    bodies: Bodies,
) -> HostingService:
    """The hosted graphs of this process."""
    from twinframe.app import hosting

    return hosting.HostingService(installation, gate, instruments, rates, endpoints, bodies)


def check_control(settings: Settings) -> None:
    """Whether the control plane can know who calls. Raises `SettingsError`."""
    from twinframe.app import control

    control.check_control(settings)


def check_control_store(installation: Installation, workers: int) -> None:
    """Whether the store of the control plane can be had. `ConfigurationError`, `StorageError`."""
    from twinframe.app import control

    control.check_control_store(installation, workers)


def check_hosting(installation: Installation) -> None:
    """Whether graphs could be hosted, if they are to be. Raises `SettingsError`."""
    if installation.settings.hosting.enabled:
        from twinframe.app import hosting

        hosting.check_hosting(installation)
