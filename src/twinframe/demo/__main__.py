"""Loads the sample into a running service and runs the tour: `python -m twinframe.demo URL`.

With `--past` behind the URL, an empty graph that keeps a history gets the sample with a day of
values. With TWINFRAME_TOKEN_ENDPOINT in the environment it uses tokens of that server, as the
client of TWINFRAME_CLIENT_ID and TWINFRAME_CLIENT_SECRET.
"""

from __future__ import annotations

import sys
from os import environ

from rich.console import Console

try:
    from twinframe.demo.loading import load_past, open_wire
    from twinframe.demo.tour import (
        ClientCredential,
        ask_questions,
        build_client,
        is_empty,
        load_sample,
    )
except ModuleNotFoundError as error:
    sys.exit(
        f"twinframe: the demo uses the vendor's SDK, and {error.name} is not installed. "
        "Install it: pip install 'twinframe[demo]'"
    )

_PAST = "--past"


def read_credential() -> ClientCredential | None:
    """Return the client of the environment, None where the service requires no authentication."""
    endpoint = environ.get("TWINFRAME_TOKEN_ENDPOINT")
    if not endpoint:
        return None
    return ClientCredential(
        endpoint, environ["TWINFRAME_CLIENT_ID"], environ["TWINFRAME_CLIENT_SECRET"]
    )


def main(url: str, *options: str) -> None:
    """Load the missing parts of the sample, then run the tour's queries."""
    console = Console()
    credential = read_credential()
    client = build_client(url, credential)
    with open_wire(url, credential) as wire:
        if not (_PAST in options and is_empty(client) and load_past(wire, console)):
            load_sample(client, console)
    ask_questions(client, console)


main(*sys.argv[1:])
