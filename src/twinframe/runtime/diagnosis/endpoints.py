"""Checks whether the servers that the service depends on answer, and compares their clocks.

Only configured addresses are contacted; nothing secret is sent.
"""

from __future__ import annotations

import ssl
import time
from collections.abc import Iterator
from email.utils import parsedate_to_datetime
from typing import Final

import httpx2

from twinframe.runtime.diagnosis.findings import Finding, build_error, build_fine, build_warning

_HEADERS: Final = {"User-Agent": "twinframe", "Accept-Encoding": "identity"}
_SERVER_ERROR: Final = 500
_FINE: Final = 200
_LIVE: Final = b'{"status":"live"}'
_ANYWHERE: Final = {"0.0.0.0": "127.0.0.1", "[::]": "[::1]", "": "127.0.0.1"}  # noqa: S104  (asked)
_SKEW_SECONDS: Final = 5.0


def check_endpoint(
    key: str, url: str, *, ca_file: str = "", timeout: float = 5.0
) -> Iterator[Finding]:
    """Check whether the server of the setting `key` answers in time, with any answer.

    SEC: without credentials: a wrong address must not receive any.
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


def is_live(bind: str, *, tls: bool = False, timeout: float = 2.0) -> bool:
    """Return whether a service of ours answers at an address of this machine, as it is bound.

    SEC: its certificate is not verified: the check sends nothing, and only trusts that it answers.
    """
    host, _, port = bind.rpartition(":")
    transport = None
    if bind.startswith("unix:"):
        transport = httpx2.HTTPTransport(uds=bind.removeprefix("unix:"))
        host, port = "localhost", "80"
    elif host in _ANYWHERE:
        host = _ANYWHERE[host]
    url = f"{'https' if tls else 'http'}://{host}:{port}/health/live"
    trusting = ssl.create_default_context()
    trusting.check_hostname = False
    trusting.verify_mode = ssl.CERT_NONE
    try:
        with httpx2.Client(
            verify=trusting, transport=transport, timeout=timeout, trust_env=False
        ) as client:
            answer = client.get(url, headers=_HEADERS)
    except (httpx2.HTTPError, httpx2.InvalidURL, OSError):
        return False
    return answer.status_code == _FINE and answer.content == _LIVE


def compare_clock(key: str, date: str, now: float) -> Iterator[Finding]:
    """Check that this machine's clock agrees with the `Date` of an answer, of whole seconds."""
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
