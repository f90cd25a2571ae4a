"""Servers that the service depends on: whether they answer, and what their clock says.

Only configured addresses are asked; nothing secret is sent.
"""

from __future__ import annotations

import ssl
import time
from collections.abc import Iterator
from email.utils import parsedate_to_datetime
from typing import Final

import httpx2

from twinframe.diagnosis.findings import Finding, build_error, build_fine, build_warning

_HEADERS: Final = {"User-Agent": "twinframe", "Accept-Encoding": "identity"}
_SERVER_ERROR: Final = 500
_SKEW_SECONDS: Final = 5.0


def check_endpoint(
    key: str, url: str, *, ca_file: str = "", timeout: float = 5.0
) -> Iterator[Finding]:
    """Whether the server of the setting `key` answers at all, whatever it answers, in time.

    SEC: without credentials: a wrong address must not be given any.
    """
    try:
        verify = httpx2.create_ssl_context() if not ca_file else _load(ca_file)
        with (
            httpx2.Client(
                verify=verify, timeout=timeout, follow_redirects=False, trust_env=False
            ) as client,
            client.stream("GET", url, headers=_HEADERS) as answer,
        ):
            status, date = answer.status_code, answer.headers.get("date", "")
    except (httpx2.HTTPError, httpx2.InvalidURL, OSError) as error:
        reason = f"{type(error).__name__} {error}".strip()
        yield build_error(
            "reachability",
            f"{key}={url} does not answer: {reason}.",
            "Look at the address, the name service, the firewall between, and its certificate.",
        )
        return
    if status >= _SERVER_ERROR:
        text = f"{key}={url} answers {status}."
        yield build_warning("reachability", text, "Look at that server's own log.")
    else:
        yield build_fine("reachability", f"{key}={url} answers.")
    yield from compare_clock(key, date, time.time())


def compare_clock(key: str, date: str, now: float) -> Iterator[Finding]:
    """Whether this machine's clock agrees with the `Date` of an answer, of whole seconds."""
    try:
        theirs = parsedate_to_datetime(date).timestamp()
    except (ValueError, TypeError, OverflowError):
        return
    skew = now - theirs - 0.5
    if abs(skew) > _SKEW_SECONDS:
        side = "ahead of" if skew > 0 else "behind"
        yield build_warning(
            "clock",
            f"The clock of this machine is {abs(skew):.0f} s {side} "
            f"that of {key}: tokens may seem expired, or not valid yet.",
            "Have a time service set it (timedatectl set-ntp true).",
        )
    else:
        yield build_fine("clock", f"The clock agrees with that of {key}.")


def _load(ca_file: str) -> ssl.SSLContext:
    context = httpx2.create_ssl_context()
    context.load_verify_locations(cafile=ca_file)
    return context
