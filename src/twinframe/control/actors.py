"""Who calls the control plane, and by which names grants know them. It verifies nobody."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final, Literal, TypeAlias

from twinframe.errors import InvalidArgument

ActorKind: TypeAlias = Literal["user", "service", "operator"]

_LONGEST_SUBJECT: Final = 1024
_LONGEST_EMAIL: Final = 254
_EMAIL: Final = re.compile(r"[^@\s]+@[^@\s]+")


@dataclass(frozen=True, slots=True)
class Actor:
    """An authenticated caller. `subject` and `email` are what its credentials state.

    `kind` is `service` for the account of a program, `operator` for the command line on the machine
    itself. SEC: `email` is empty unless its provider says that it is verified: grants to an email
    go to whoever shows it.
    """

    subject: str
    email: str = ""
    kind: ActorKind = "user"
    request_id: str = ""

    @property
    def principals(self) -> tuple[Principal, ...]:
        """All names by which this caller may have been granted something."""
        return build_principals(self.subject, self.email)


@dataclass(frozen=True, slots=True)
class Principal:
    """Whom a grant is for: the subject of a user or service account, or an invited email."""

    kind: Literal["subject", "email"]
    name: str

    @property
    def key(self) -> str:
        """The principal as a key of records."""
        return f"{self.kind}:{self.name}"


def build_principals(subject: str, email: str) -> tuple[Principal, ...]:
    """The principals of somebody with this subject, and this email if it is not empty."""
    known = Principal("subject", subject)
    return (known, Principal("email", email.lower())) if email else (known,)


def parse_principal(*, subject: str | None = None, email: str | None = None) -> Principal:
    """Exactly one of the two, checked. Raises `InvalidArgument`."""
    if (subject is None) == (email is None):
        raise InvalidArgument(
            "Name whom the role is for by either the subject of their tokens or their email."
        )
    if subject is not None:
        return Principal("subject", parse_subject(subject))
    return Principal("email", parse_email(email or ""))


def parse_subject(text: str) -> str:
    """The subject as it is. Raises `InvalidArgument`."""
    if not text or len(text) > _LONGEST_SUBJECT or not text.isprintable():
        raise InvalidArgument(f"A subject has 1 to {_LONGEST_SUBJECT} printable characters.")
    return text


def parse_email(text: str) -> str:
    """An email address in lower case. Raises `InvalidArgument`."""
    if len(text) > _LONGEST_EMAIL or not text.isprintable() or not _EMAIL.fullmatch(text):
        raise InvalidArgument(
            f"{text[:_LONGEST_EMAIL]!r} is no email address, such as ann@example.com."
        )
    return text.lower()
