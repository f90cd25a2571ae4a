"""The URLs of the token server: its issuer and the addresses below it."""

from __future__ import annotations

from dataclasses import dataclass
from urllib.parse import urlsplit

from twinframe.errors import SettingsError
from twinframe.settings import LOOPBACK_BINDS, Settings, TokenServerSettings

TOKEN = "/oauth/token"  # noqa: S105  (a path)
AUTHORIZE = "/oauth/authorize"
JWKS = "/.well-known/jwks.json"
METADATA = ("/.well-known/oauth-authorization-server", "/.well-known/openid-configuration")


@dataclass(frozen=True, slots=True)
class Addresses:
    """The URLs of the server. `issuer` is exactly what its tokens have as `iss`."""

    issuer: str

    @property
    def base(self) -> str:
        """The URL to which the endpoints' paths are appended."""
        return self.issuer.rstrip("/")

    @property
    def path(self) -> str:
        """The path of the issuer, empty when it has none; it does not end with a slash."""
        return urlsplit(self.base).path

    @property
    def token_endpoint(self) -> str:
        """The URL of the token endpoint."""
        return self.base + TOKEN

    def list_paths(self, path: str) -> tuple[str, ...]:
        """List the paths at which `path` answers: a proxy may remove the issuer's path or not."""
        return tuple(dict.fromkeys((path, self.path + path)))

    def list_metadata_paths(self) -> tuple[str, ...]:
        """The paths of the metadata.

        SPEC: RFC 8414 section 3.1 inserts before the issuer's path, OIDC Discovery section 4
        appends to it, and clients try both for both.
        """
        found = [path for name in METADATA for path in (*self.list_paths(name), name + self.path)]
        return tuple(dict.fromkeys(found))


def build_addresses(settings: TokenServerSettings) -> Addresses:
    """Build the addresses from the settings. Raises `SettingsError` if the issuer must be named."""
    if settings.issuer:
        parts = urlsplit(settings.issuer)
        if parts.query or "?" in settings.issuer:
            raise SettingsError("TokenServer__Issuer must have no query (RFC 8414 section 2).")
        return Addresses(settings.issuer)
    if settings.bind.startswith("unix:") or not settings.bind.startswith(LOOPBACK_BINDS):
        raise SettingsError(
            f"TokenServer__Bind={settings.bind} says not how others call this server: set "
            "TokenServer__Issuer to its public URL, such as https://auth.example."
        )
    scheme = "https" if settings.tls.certificate else "http"
    return Addresses(f"{scheme}://{settings.bind}")


def list_audiences(settings: Settings) -> tuple[str, ...]:
    """List the audiences tokens are issued for, the default first.

    Raises `SettingsError` for none.
    """
    own = settings.token_server.audiences
    found = own or (settings.authentication.audience, settings.mcp.resource_server_url)
    audiences = tuple(dict.fromkeys(audience for audience in found if audience))
    if not audiences:
        raise SettingsError(
            "TokenServer__Audiences must name what tokens are for: the Authentication__Audience "
            'of the service that takes them, such as TokenServer__Audiences=["twinframe"].'
        )
    return audiences


def check_exposure(settings: TokenServerSettings) -> None:
    """Refuse to send secrets over a network in the clear. Raises `SettingsError`."""
    is_near = settings.bind.startswith(LOOPBACK_BINDS)
    if not (is_near or settings.tls.certificate or settings.issuer.startswith("https://")):
        raise SettingsError(
            f"TokenServer__Bind={settings.bind} is reachable from other machines and secrets would "
            "go there in the clear: set TokenServer__Tls__Certificate and TokenServer__Tls__Key, "
            "or put a proxy with TLS in front and its https:// URL in TokenServer__Issuer."
        )
