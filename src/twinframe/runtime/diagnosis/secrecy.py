"""Checks secrets and certificates: strong, private, and not expired."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Final

from cryptography import x509
from cryptography.x509.oid import NameOID

from twinframe.runtime.diagnosis.findings import Finding, build_error, build_fine, build_warning

_LEAST_CHARACTERS: Final = 16
_LEAST_DIFFERENT: Final = 6
_SOON: Final = timedelta(days=21)
_PLACEHOLDERS: Final = frozenset(
    ("changeme", "change-me", "secret", "password", "example", "test", "default", "letmein")
)
_MAKE: Final = "Take a random one: openssl rand -base64 32"


def check_secret(key: str, value: str) -> Iterator[Finding]:
    """Check that a secret that is set cannot be guessed. SEC: no finding contains it."""
    if not value:
        return
    folded = value.casefold().strip()
    if folded in _PLACEHOLDERS or len(set(value)) < _LEAST_DIFFERENT:
        yield build_error("secrets", f"{key} is easily guessed.", _MAKE)
    elif len(value) < _LEAST_CHARACTERS:
        text = f"{key} has fewer than {_LEAST_CHARACTERS} characters."
        yield build_warning("secrets", text, _MAKE)
    else:
        yield build_fine("secrets", f"{key} is long enough.")


def check_private_file(key: str, path: Path) -> Iterator[Finding]:
    """Check that a file with secrets exists and is closed to other users of the machine."""
    try:
        mode = path.stat().st_mode
        readable = os.access(path, os.R_OK)
    except OSError as error:
        yield build_error("secrets", f"{key}={path}: {error.strerror}.", "Make it, or unset it.")
        return
    if not readable:
        text = f"{key}={path} cannot be read by user {os.geteuid()}."
        yield build_error("secrets", text, f"chown {os.geteuid()} {path.absolute()}")
    elif mode & (stat.S_IROTH | stat.S_IWOTH | stat.S_IWGRP):
        text = f"{key}={path} can be read or changed by other users of this machine."
        yield build_warning("secrets", text, f"chmod 0600 {path.absolute()}")
    else:
        yield build_fine("secrets", f"{key}={path} is closed to others.")


def check_certificate(key: str, path: Path, now: datetime | None = None) -> Iterator[Finding]:
    """Check that a certificate is valid now, and for some weeks."""
    moment = now or datetime.now(UTC)
    try:
        certificate = x509.load_pem_x509_certificates(path.read_bytes())[0]
    except (OSError, ValueError):
        return  # the service checks whether it can be loaded, where it loads it
    names = certificate.subject.get_attributes_for_oid(NameOID.COMMON_NAME)
    shown = f"{key}={path}" + (f" ({names[0].value!r})" if names else "")
    end = certificate.not_valid_after_utc
    fix = "Have a new one signed, and reload the service (HUP)."
    if moment < certificate.not_valid_before_utc:
        begin = certificate.not_valid_before_utc
        yield build_error("certificate", f"{shown} is not valid before {begin:%Y-%m-%d}.", fix)
    elif end <= moment:
        yield build_error("certificate", f"{shown} has expired on {end:%Y-%m-%d}.", fix)
    elif end - moment < _SOON:
        yield build_warning("certificate", f"{shown} expires on {end:%Y-%m-%d}.", fix)
    else:
        yield build_fine("certificate", f"{shown} is valid until {end:%Y-%m-%d}.")
