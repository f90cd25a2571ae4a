"""Callers of the control plane, and the principals by which grants identify them."""

from __future__ import annotations

import re
import string
import unicodedata
from dataclasses import dataclass
from typing import Final, Literal, TypeAlias

from twinframe.errors import InvalidArgument

ActorKind: TypeAlias = Literal["user", "service", "operator"]

_LONGEST_SUBJECT: Final = 1024
_LONGEST_EMAIL: Final = 254
_EMAIL: Final = re.compile(r"[^@\s]+@[^@\s]+")
_SMALL: Final = str.maketrans(string.ascii_uppercase, string.ascii_lowercase)
_DROPPED: Final = re.compile(
    "[\u3002\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u3164\ufe00-\ufe0f\uffa0\U000e0100-\U000e01ef]"
)
"""Characters that NFKC keeps and others do not: a full stop in IDNA, and those that Unicode's own
folding drops.
"""


@dataclass(frozen=True, slots=True)
class Actor:
    """An authenticated caller. `subject` and `email` are from its credentials.

    `kind` is `service` for the account of a program, `operator` for the command line on the machine
    itself. SEC: `email` is empty unless its provider says that it is verified: grants to an email
    go to the caller that shows it.
    """

    subject: str
    email: str = ""
    kind: ActorKind = "user"
    request_id: str = ""

    @property
    def principals(self) -> tuple[Principal, ...]:
        """All principals by which this caller may have been granted something."""
        return build_principals(self.subject, self.email)


@dataclass(frozen=True, slots=True)
class Principal:
    """The recipient of a grant: the subject of a user or service account, or an invited email."""

    kind: Literal["subject", "email"]
    name: str

    @property
    def key(self) -> str:
        """The principal as a key of records."""
        return f"{self.kind}:{self.name}"


def build_principals(subject: str, email: str) -> tuple[Principal, ...]:
    """Build the principals of a user with this subject, and this email if it is not empty."""
    known, address = Principal("subject", subject), find_address(email)
    return (known, Principal("email", address)) if address else (known,)


def parse_principal(*, subject: str | None = None, email: str | None = None) -> Principal:
    """Parse exactly one of the two. Raises `InvalidArgument`."""
    if (subject is None) == (email is None):
        raise InvalidArgument(
            "Name whom the role is for by either the subject of their tokens or their email."
        )
    if subject is not None:
        return Principal("subject", parse_subject(subject))
    address = find_address(parse_email(email or ""))
    if not address:
        raise InvalidArgument(
            f"{email!a} cannot be invited: Unicode folds it into another address. Write letters "
            "beyond ASCII as small ones in their composed form, or name the subject."
        )
    return Principal("email", address)


def parse_subject(text: str) -> str:
    """Check the subject and return it unchanged. Raises `InvalidArgument`."""
    if not text or len(text) > _LONGEST_SUBJECT or not text.isprintable():
        raise InvalidArgument(f"A subject has 1 to {_LONGEST_SUBJECT} printable characters.")
    return text


def parse_email(text: str) -> str:
    """Parse an email address, converting its ASCII letters to lower case.

    Raises `InvalidArgument`.
    """
    if len(text) > _LONGEST_EMAIL or not text.isprintable() or not _EMAIL.fullmatch(text):
        raise InvalidArgument(
            f"{text[:_LONGEST_EMAIL]!r} is no email address, such as ann@example.com."
        )
    return text.translate(_SMALL)


def find_address(email: str) -> str:
    """Return the form by which addresses are compared; empty for one that cannot be invited.

    SEC: ASCII letters are compared in lower case, all others unchanged. An address that Unicode
    would fold into another one (full-width letters, the Kelvin sign, `\u0131`, capitals beyond
    ASCII) matches none: its owner need not be the owner of the other.
    """
    kept = email.translate(_SMALL)
    if kept.isascii():
        return kept
    folded = unicodedata.normalize("NFKC", kept.casefold())
    is_settled = kept == folded == kept.upper().lower() and not _DROPPED.search(kept)
    return kept if is_settled else ""
