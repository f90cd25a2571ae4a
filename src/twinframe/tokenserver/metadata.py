"""Renders the server's metadata (RFC 8414, OpenID Connect Discovery 1.0) and its JWK Set as
JSON.
"""

from __future__ import annotations

import orjson

from twinframe.tokenserver.addresses import AUTHORIZE, JWKS, Addresses
from twinframe.tokenserver.key_ring import KeyRing
from twinframe.tokenserver.signing_keys import Algorithm


def render_metadata(
    addresses: Addresses, scopes: tuple[str, ...], algorithm: Algorithm, *, for_mcp: bool = False
) -> bytes:
    """Render the metadata document; one text for both standards.

    SPEC: RFC 8414 section 2: a server without a grant that uses it names no authorization endpoint.
    NOTE: the SDKs of MCP (Python 2.0 and TypeScript 1.20) accept no document without one, whatever
    the grant: they get its address, and no response type for it.
    """
    document: dict[str, object] = {
        "issuer": addresses.issuer,
        **({"authorization_endpoint": addresses.base + AUTHORIZE} if for_mcp else {}),
        "token_endpoint": addresses.token_endpoint,
        "jwks_uri": addresses.base + JWKS,
        "grant_types_supported": ["client_credentials"],
        "token_endpoint_auth_methods_supported": ["client_secret_basic", "client_secret_post"],
        "response_types_supported": [],  # SPEC: a required member, without values here
        "subject_types_supported": ["public"],
        "id_token_signing_alg_values_supported": [algorithm],
    }
    if scopes:  # SPEC: RFC 8414 section 3.2: no empty arrays
        document["scopes_supported"] = list(scopes)
    return orjson.dumps(document)


def render_jwks(ring: KeyRing) -> bytes:
    """Render the published keys as a JWK Set (RFC 7517 section 5): public halves only."""
    return orjson.dumps({"keys": [key.public_jwk for key in ring.list_published()]})
