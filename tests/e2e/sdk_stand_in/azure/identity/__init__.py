"""A stand-in for `azure.identity`, for the vendor's samples: tokens of a server that is named.

It is found before the real package when its folder is in `PYTHONPATH`, and has nothing but what
the samples import. `AZURE_CLIENT_ID` and `AZURE_CLIENT_SECRET` mean what they mean there;
`TWINFRAME_TOKEN_URL` and `TWINFRAME_AUDIENCE` stand for the authority and the scope.
"""

from __future__ import annotations

import json
import os
import time
import urllib.parse
import urllib.request

from azure.core.credentials import AccessToken


class DefaultAzureCredential:
    """A `TokenCredential` by client credentials."""

    def get_token(self, *_scopes: str, **_options: object) -> AccessToken:
        """A token of the server, got anew each time."""
        form = {
            "grant_type": "client_credentials",
            "client_id": os.environ["AZURE_CLIENT_ID"],
            "client_secret": os.environ["AZURE_CLIENT_SECRET"],
            "audience": os.environ["TWINFRAME_AUDIENCE"],
        }
        url = os.environ["TWINFRAME_TOKEN_URL"]
        with urllib.request.urlopen(
            url, urllib.parse.urlencode(form).encode(), timeout=120
        ) as answer:
            found = json.load(answer)
        return AccessToken(found["access_token"], int(time.time()) + found["expires_in"])
