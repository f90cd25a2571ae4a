"""`python -m twinframe.demo URL`: load the sample into a running service and tour it."""

from __future__ import annotations

import sys

from rich.console import Console

try:
    from twinframe.demo.tour import ask_questions, build_client, load_sample
except ModuleNotFoundError as error:
    sys.exit(
        f"twinframe: the demo uses the vendor's SDK, and {error.name} is not installed. "
        "Install it: pip install 'twinframe[demo]'"
    )


def main(url: str) -> None:
    """Load what is missing of the sample, then ask the tour's questions."""
    console = Console()
    client = build_client(url)
    load_sample(client, console)
    ask_questions(client, console)


main(sys.argv[1])
