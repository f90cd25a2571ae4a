"""The token server: registered clients, signing keys, and `POST /oauth/token`.

It is for development and small installations; a larger one has an identity provider already.
"""

from __future__ import annotations
