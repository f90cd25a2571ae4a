"""The codes of errors over Bolt: those by which Neo4j's drivers choose their exceptions.

SPEC: https://neo4j.com/docs/status-codes/current/ for codes and GQLSTATUS. Drivers retry a managed
transaction whose error is transient.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar, Final, NamedTuple

from twinframe import errors
from twinframe.bolt.framing import Version
from twinframe.errors import QueryInvalid, TwinframeError
from twinframe.query.engine import CannotRun

_GQL_SINCE: Final = Version(5, 7)
_MOST_DETAILS: Final = 10


class Code(NamedTuple):
    """A code of Neo4j, the GQLSTATUS and its standard description."""

    neo4j: str
    gql: str
    description: str


_CLIENT: Final = "Neo.ClientError."
_TRANSIENT: Final = "Neo.TransientError."
_CLASSES: Final = {
    "ClientError": "CLIENT_ERROR",
    "TransientError": "TRANSIENT_ERROR",
    "DatabaseError": "DATABASE_ERROR",
}
_DATA: Final = "error: data exception"
_SYSTEM: Final = "error: system configuration or operation exception"
_UNKNOWN: Final = Code(
    "Neo.DatabaseError.General.UnknownError",
    "50N42",
    "error: general processing exception - unexpected error",
)
_SYNTAX: Final = Code(
    f"{_CLIENT}Statement.SyntaxError",
    "42001",
    "error: syntax error or access rule violation - invalid syntax",
)
_ARGUMENT: Final = Code(f"{_CLIENT}Statement.ArgumentError", "22000", _DATA)
_CONSTRAINT: Final = Code(
    f"{_CLIENT}Schema.ConstraintValidationFailed",
    "22N77",
    f"{_DATA} - property constraint violation",
)
_NOT_FOUND: Final = Code(f"{_CLIENT}Statement.EntityNotFound", "22000", _DATA)
_FORBIDDEN: Final = Code(
    f"{_CLIENT}Security.Forbidden",
    "42NFF",
    "error: syntax error or access rule violation - permission/access denied",
)
_UNAUTHORIZED: Final = _FORBIDDEN._replace(neo4j=f"{_CLIENT}Security.Unauthorized")
UNEXPECTED: Final = _UNKNOWN
"""An error that nobody expected."""
EXPIRED: Final = _FORBIDDEN._replace(neo4j=f"{_CLIENT}Security.AuthorizationExpired")
"""Credentials that counted at the login and no longer do: drivers log in again."""
INVALID_REQUEST: Final = Code(
    f"{_CLIENT}Request.Invalid", "08N06", "error: connection exception - protocol error"
)
_TOO_MUCH: Final = Code(
    f"{_CLIENT}General.TransactionOutOfMemoryError",
    "51N73",
    f"{_SYSTEM} - transaction memory limit reached",
)
_BUSY: Final = Code(
    f"{_TRANSIENT}Request.NoThreadsAvailable", "51N71", f"{_SYSTEM} - bolt is out of threads"
)

_NOT_COMMITTED: Final = Code(
    "Neo.DatabaseError.Transaction.TransactionCommitFailed",
    "2DN01",
    "error: invalid transaction termination - commit failed",
)

_NOT_STARTED: Final = Code(
    "Neo.DatabaseError.Transaction.TransactionStartFailed",
    "25N01",
    "error: invalid transaction state - invalid mix of queries",
)
_OUTDATED: Final = Code(
    f"{_TRANSIENT}Transaction.Outdated",
    "25N02",
    "error: invalid transaction state - unable to complete transaction",
)

_KINDS: Final[dict[str, Code]] = {
    "SyntaxError": _SYNTAX,
    "SemanticError": _SYNTAX._replace(neo4j=f"{_CLIENT}Statement.SemanticError"),
    "TypeError": Code(f"{_CLIENT}Statement.TypeError", "22G03", f"{_DATA} - invalid value type"),
    "ArgumentError": _ARGUMENT,
    "ArithmeticError": Code(f"{_CLIENT}Statement.ArithmeticError", "22000", _DATA),
    "PropertyNotFound": Code(f"{_CLIENT}Statement.PropertyNotFound", "22000", _DATA),
    "EntityNotFound": _NOT_FOUND,
    "ParameterMissing": Code(
        f"{_CLIENT}Statement.ParameterMissing",
        "42N51",
        "error: syntax error or access rule violation - invalid parameter",
    ),
    "ProcedureError": Code(
        f"{_CLIENT}Procedure.ProcedureNotFound",
        "42001",
        _SYNTAX.description,
    ),
    "ConstraintValidationFailed": _CONSTRAINT,
    "ConstraintVerificationFailed": _CONSTRAINT,
}
"""By the openCypher kind of the error of a query."""

_ERRORS: Final[tuple[tuple[type[TwinframeError], Code], ...]] = (
    (errors.Unauthenticated, _UNAUTHORIZED),
    (errors.AccessError, _FORBIDDEN),
    (
        errors.GraphNotFound,
        Code(
            f"{_CLIENT}Database.DatabaseNotFound",
            "22N51",
            f"{_DATA} - database does not exist",
        ),
    ),
    (
        errors.QueryTimeout,
        Code(
            f"{_CLIENT}Transaction.TransactionTimedOut",
            "25N14",
            "error: invalid transaction state - transaction timed out",
        ),
    ),
    (errors.MemoryExhausted, _BUSY._replace(neo4j=f"{_TRANSIENT}General.OutOfMemoryError")),
    (errors.LimitExceeded, _TOO_MUCH),
    (errors.QuotaExceeded, _TOO_MUCH),
    (errors.RateExceeded, _BUSY),
    (errors.TransactionOutdated, _OUTDATED),
    (errors.StorageBusy, _BUSY),
    # NOTE: a driver would repeat what is transient; a write without an answer may have been made.
    (errors.StorageUnanswered, _NOT_COMMITTED),
    (errors.StorageFull, _NOT_COMMITTED),
    (errors.StorageDamaged, _UNKNOWN),
    (
        errors.StorageError,
        Code(
            f"{_TRANSIENT}General.DatabaseUnavailable",
            "08N00",
            "error: connection exception - unable to connect to database",
        ),
    ),
    (errors.InvalidContinuationToken, _OUTDATED),
    (errors.BadRequest, INVALID_REQUEST),
    (errors.ValidationFailed, _CONSTRAINT),
    (errors.InvalidRelationship, _CONSTRAINT),
    (errors.ModelDecommissioned, _CONSTRAINT),
    (errors.RelationshipsNotDeleted, _CONSTRAINT),
    (errors.Conflict, _CONSTRAINT),
    (errors.PreconditionFailed, _CONSTRAINT),
    (errors.NotFound, _NOT_FOUND),
    (errors.HistoryNotKept, _ARGUMENT),
    (errors.InputError, _ARGUMENT),
    (errors.Unsupported, _ARGUMENT._replace(neo4j=f"{_CLIENT}Statement.RuntimeUnsupportedError")),
    (CannotRun, _UNKNOWN),
)
"""The first that an error is one of."""


class BoltError(TwinframeError):
    """An error that only this protocol has; `bolt` is its code."""

    bolt: ClassVar[Code]


class ReadOnly(BoltError):
    """A statement that writes came in a transaction for reading."""

    code = "TransactionReadOnly"
    bolt = Code(f"{_CLIENT}Statement.AccessMode", "22000", _DATA)

    def __init__(self) -> None:
        super().__init__(
            "The statement writes, and its transaction or session is for reading (mode 'r')."
        )


class CommandRefused(BoltError):
    """A command of Neo4j's administration that this service does not have."""

    code = "CommandRefused"
    bolt = Code(
        f"{_CLIENT}Statement.UnsupportedAdministrationCommand",
        "51N27",
        f"{_SYSTEM} - not supported in this edition",
    )


class InvalidBookmark(BoltError):
    """A bookmark that this service has not given."""

    code = "InvalidBookmark"
    bolt = Code(f"{_CLIENT}Transaction.InvalidBookmark", "22000", _DATA)


class LoginUnavailable(BoltError):
    """The token endpoint gave no answer to a login."""

    code = "LoginUnavailable"
    bolt = Code(
        f"{_TRANSIENT}General.DatabaseUnavailable",
        "08N00",
        "error: connection exception - unable to connect to database",
    )

    def __init__(self) -> None:
        super().__init__(
            "The token endpoint, where user and password are exchanged for a token, gives none at "
            "the moment; try again."
        )


class BookmarkTimeout(BoltError):
    """The change of a bookmark did not come in time."""

    code = "BookmarkTimeout"
    bolt = _OUTDATED._replace(neo4j=f"{_TRANSIENT}Transaction.BookmarkTimeout")


def find_code(error: TwinframeError) -> Code:
    """Return the code of an error."""
    if isinstance(error, BoltError):
        return error.bolt
    if isinstance(error, QueryInvalid):
        # NOTE: by this code and the words «in an implicit transaction» tools that begin with an
        # explicit one see that they have to run the statement on its own.
        if error.detail == "TransactionNotPossible":
            return _NOT_STARTED
        return _KINDS.get(error.kind, _SYNTAX)
    return next((code for kind, code in _ERRORS if isinstance(error, kind)), _UNKNOWN)


def build_message(error: TwinframeError) -> str:
    """Return what is wrong, with at most ten details: a FAILURE has one text for all of it."""
    details = [one.message for one in error.details[:_MOST_DETAILS] if one.message]
    return " ".join([error.public, *details])


def build_failure(
    code: Code, message: str, version: Version, position: Mapping[str, object] | None = None
) -> dict[str, object]:
    """Return the metadata of a FAILURE message; `position` is where the text is wrong."""
    if version < _GQL_SINCE:
        return {"code": code.neo4j, "message": message}
    record: dict[str, object] = {
        "OPERATION": "",
        "OPERATION_CODE": "0",
        "CURRENT_SCHEMA": "/",
        "_classification": _CLASSES[code.neo4j.split(".")[1]],
    }
    return {
        "neo4j_code": code.neo4j,
        "message": message,
        "gql_status": code.gql,
        "description": f"{code.description}. {message}",
        "diagnostic_record": record if position is None else {**record, "_position": position},
    }
