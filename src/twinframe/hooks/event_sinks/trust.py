"""Builds the TLS context of a sink from its endpoint's settings."""

from __future__ import annotations

import ssl

from twinframe.hooks.event_sinks.base import DeliveryFailed


def build_trust(authority: str, certificate: str = "", key: str = "") -> ssl.SSLContext:
    """Build the context of a client that trusts a PEM file's authorities, else the system's.

    With `certificate` and `key`, PEM files too, it presents that certificate. `DeliveryFailed`
    names the setting whose file cannot be read, and to the operator that file: it may exist the
    next time.
    """
    try:
        context = ssl.create_default_context(cafile=authority or None)
    except OSError as error:  # includes the errors of `ssl`
        raise _build_failure("CertificateAuthority", authority, error) from error
    if certificate:
        try:
            context.load_cert_chain(certificate, key)
        except OSError as error:
            names = f"{certificate} with Key {key}"
            raise _build_failure("Certificate", names, error) from error
    return context


def _build_failure(setting: str, path: str, error: OSError) -> DeliveryFailed:
    reason = error.strerror or type(error).__name__
    return DeliveryFailed(
        f"The endpoint's {setting} {path} cannot be used: {reason}.",
        told=f"The endpoint's {setting} cannot be used: {reason}.",
    )
