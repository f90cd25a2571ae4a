"""The token server: clients, signing keys, `POST /oauth/token`. It verifies no token.

For development and small installations; a larger one has an identity provider already.
"""

from __future__ import annotations
