"""`python -m twinframe.demo URL`: load the sample into a running service and tour it.

With TWINFRAME_TOKEN_ENDPOINT in the environment it shows tokens of that server, as the client of
TWINFRAME_CLIENT_ID and TWINFRAME_CLIENT_SECRET.
"""

from __future__ import annotations

import sys
from os import environ

from rich.console import Console

try:
    from twinframe.demo.tour import ClientCredential, ask_questions, build_client, load_sample
except ModuleNotFoundError as error:
    sys.exit(
        f"twinframe: the demo uses the vendor's SDK, and {error.name} is not installed. "
        "Install it: pip install 'twinframe[demo]'"
    )


def read_credential() -> ClientCredential | None:
    """The client of the environment, None where callers are not asked who they are."""
    endpoint = environ.get("TWINFRAME_TOKEN_ENDPOINT")
    if not endpoint:
        return None
    return ClientCredential(
        endpoint, environ["TWINFRAME_CLIENT_ID"], environ["TWINFRAME_CLIENT_SECRET"]
    )


def main(url: str) -> None:
    """Load what is missing of the sample, then ask the tour's questions."""
    console = Console()
    client = build_client(url, read_credential())
    load_sample(client, console)
    ask_questions(client, console)


main(sys.argv[1])
