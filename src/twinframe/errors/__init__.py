"""The tree of errors that twinframe raises on purpose, each with a stable code and typed fields.

`http.errors` alone maps this tree to HTTP, and `mcp.errors` alone to MCP.
"""

from __future__ import annotations

from collections.abc import Iterable

from twinframe.errors.base import Conflict as Conflict
from twinframe.errors.base import ErrorDetail as ErrorDetail
from twinframe.errors.base import InputError as InputError
from twinframe.errors.base import NotFound as NotFound
from twinframe.errors.base import StorageBusy as StorageBusy
from twinframe.errors.base import StorageDamaged as StorageDamaged
from twinframe.errors.base import StorageError as StorageError
from twinframe.errors.base import StorageFull as StorageFull
from twinframe.errors.base import StorageMoved as StorageMoved
from twinframe.errors.base import StorageUnanswered as StorageUnanswered
from twinframe.errors.base import TwinframeError as TwinframeError
from twinframe.errors.derivations import DerivationInvalid as DerivationInvalid
from twinframe.errors.derivations import DerivationNotFound as DerivationNotFound
from twinframe.errors.derivations import DerivedPropertyReadOnly as DerivedPropertyReadOnly
from twinframe.errors.nearest import render_hint
from twinframe.errors.uploads import UploadAlreadyExists as UploadAlreadyExists
from twinframe.errors.uploads import UploadIncomplete as UploadIncomplete
from twinframe.errors.uploads import UploadNotFound as UploadNotFound
from twinframe.errors.uploads import UploadPieceRefused as UploadPieceRefused
from twinframe.errors.workspaces import WorkspaceNotFound as WorkspaceNotFound

# --- start-up -------------------------------------------------------------------------------


class ConfigurationError(TwinframeError):
    """The installation or its settings are wrong; the service does not start."""

    code = "ConfigurationError"

    @property
    def public(self) -> str:
        """SEC: messages quote settings, whose values may be secrets."""
        return "The service is not set up for this. Its log says what is wrong."


class SettingsError(ConfigurationError):
    """A setting is unknown or has an invalid value; `details` holds one entry per setting."""

    code = "SettingsError"


class PluginError(ConfigurationError):
    """A plugin is missing, installed twice, fails to import or breaks its interface's contract."""

    code = "PluginError"


# --- access -----------------------------------------------------------------------------------


class AccessError(TwinframeError):
    """The caller is unknown, or lacks a permission."""

    code = "Forbidden"


class Unauthenticated(AccessError):
    """The request has no valid credentials.

    `message` is for the caller; `reason` is for the log alone. SEC: the message is the same
    whatever is wrong with a credential.
    """

    code = "Unauthorized"

    def __init__(self, reason: str, message: str = "") -> None:
        super().__init__(message or "Authentication required. Please provide a valid Bearer token.")
        self.reason = reason


class ScopeMissing(AccessError):
    """The token lacks a scope; `scopes` are all that are required."""

    code = "InsufficientScope"

    def __init__(self, scopes: tuple[str, ...]) -> None:
        super().__init__(f"Required scopes: {', '.join(scopes)}")
        self.scopes = scopes


class PermissionMissing(AccessError):
    """The caller lacks the permission `permission`."""

    code = "Forbidden"

    def __init__(self, permission: str) -> None:
        super().__init__(f"User lacks required permission: {permission}")
        self.permission = permission


# --- the caller's input ---------------------------------------------------------------------


class InvalidArgument(InputError):
    """An id, header, parameter or body has a form that is not accepted."""

    code = "InvalidArgument"


class BadRequest(InputError):
    """A required body is missing, or a continuation token is damaged, expired, or of another
    listing, query or instance.
    """

    code = "BadRequest"


class EmptyBody(BadRequest):
    """A required body is missing."""


class MissingArgument(InputError):
    """A required argument is absent."""

    code = "MissingArgument"


class LimitExceeded(InputError):
    """A limit of the service (a setting) was exceeded; the message names the limit and its
    value.
    """

    code = "LimitExceeded"


class MemoryLimitExceeded(LimitExceeded):
    """One request needs more memory than any request may have.

    `part` is its purpose, `setting` the setting of its share, `limit` is in bytes.
    """

    def __init__(self, part: str, setting: str, limit: int) -> None:
        super().__init__(
            f"This takes more memory than the service has for {part}: {limit} bytes a worker "
            f"({setting}, Memory__Bytes). Ask for less at once."
        )
        self.part = part
        self.setting = setting
        self.limit = limit


class InvalidContinuationToken(BadRequest):
    """A continuation token is damaged, expired, or belongs to another listing or instance."""


class JsonPatchInvalid(InputError):
    """A JSON Patch is malformed or cannot be applied to the document it names."""

    code = "JsonPatchInvalid"


class PatchNotObjects(JsonPatchInvalid):
    """Elements of a JSON Patch are not objects, which the vendor answers with problem+json.

    `positions` are the zero-based indexes of the invalid elements.
    """

    def __init__(self, message: str, *, positions: tuple[int, ...]) -> None:
        super().__init__(message)
        self.positions = positions


class ValidationFailed(InputError):
    """A document does not conform to its model; `details` holds one entry per violation."""

    code = "ValidationFailed"


class ModelParsingFailed(InputError):
    """DTDL documents break the language's rules; `details` holds one entry per broken rule."""

    code = "DTDLParserError"


class ModelVersionNotSupported(InputError):
    """A DTDL document asks for a language version that is not supported."""

    code = "ModelVersionNotSupported"


class ModelDecommissioned(InputError):
    """A new twin names a decommissioned model."""

    code = "ModelDecommissioned"


class InvalidRelationship(InputError):
    """A relationship does not conform to the model of its source twin."""

    code = "InvalidRelationship"


class OperationNotAllowed(InputError):
    """The operation is well formed but never allowed, such as relating a twin to itself."""

    code = "OperationNotAllowed"


class RelationshipsNotDeleted(InputError):
    """A twin cannot be deleted while relationships start or end at it."""

    code = "RelationshipsNotDeleted"


class QueryInvalid(InputError):
    """A query text is refused before it runs, or fails by its own values while it runs.

    `kind` and `detail` are the openCypher error kind (`SyntaxError`, `TypeError`, ...) and detail
    (`UndefinedVariable`, ...); `phase` is `compile time` or `runtime`; `line` and `column` count
    from 1 and are 0 where there is no position; `excerpt` is the source line with a caret below it.
    `offset` is the position of a refused value in the text, until a caller that has the text
    replaces it by line and column.
    """

    code = "SqlQueryError"

    def __init__(
        self,
        message: str,
        *,
        kind: str = "SyntaxError",
        detail: str = "UnexpectedSyntax",
        phase: str = "compile time",
        line: int = 0,
        column: int = 0,
        excerpt: str = "",
    ) -> None:
        super().__init__(message)
        self.offset: int | None = None
        self.kind = kind
        self.detail = detail
        self.phase = phase
        self.line = line
        self.column = column
        self.excerpt = excerpt


class SparqlInvalid(InputError):
    """A SPARQL text is refused before it runs, or requests something that the endpoint does not
    offer.
    """

    code = "SparqlQueryError"


class QueryTimeout(InputError):
    """A query exceeded its time limit and was stopped."""

    code = "TimeoutError"


# --- what this installation cannot do ---------------------------------------------------------


class Unsupported(TwinframeError):
    """This installation does not support the operation as it is configured; the message says what
    is needed.
    """

    code = "NotImplemented"


# --- things that are not there ----------------------------------------------------------------


class TwinNotFound(NotFound):
    """No twin has this id."""

    code = "DigitalTwinNotFound"

    def __init__(self, twin_id: str) -> None:
        super().__init__(f"There is no digital twin instance that exists with the ID {twin_id}.")
        self.twin_id = twin_id


class TargetTwinNotFound(NotFound):
    """The target twin of a new relationship does not exist."""

    code = "TargetDigitalTwinNotFound"

    def __init__(self, twin_id: str) -> None:
        super().__init__(
            f"There is no digital twin instance that exists with the ID {twin_id}. "
            "The target of a relationship must exist before the relationship."
        )
        self.twin_id = twin_id


class RelationshipNotFound(NotFound):
    """The source twin has no relationship of this id."""

    code = "RelationshipNotFound"

    def __init__(self, twin_id: str, relationship_id: str) -> None:
        super().__init__(f"Relationship {relationship_id} not found on twin {twin_id}.")
        self.twin_id = twin_id
        self.relationship_id = relationship_id


class ComponentNotFound(NotFound):
    """The twin has no component of this name."""

    code = "ComponentNotFound"

    def __init__(self, twin_id: str, component: str) -> None:
        super().__init__(f"{twin_id} does not have component {component}.")
        self.twin_id = twin_id
        self.component = component


class ModelNotFound(NotFound):
    """No stored model has this id."""

    code = "ModelNotFound"

    def __init__(self, *model_ids: str) -> None:
        super().__init__(
            "There is no Model(s) available that matches the provided id(s) "
            f"{', '.join(model_ids)}."
        )
        self.model_ids = model_ids


class GraphNotFound(NotFound):
    """There is no graph at this address, or the caller has no permission there.

    SEC: both cases are one error with one text, so that it reveals nothing about the graphs of
    others.
    """

    code = "GraphNotFound"

    def __init__(self) -> None:
        super().__init__("There is no graph at this address.")


# --- conflicts with the present state -----------------------------------------------------------


class ModelAlreadyExists(Conflict):
    """One or more of the uploaded model ids exist already; no model of the upload was stored."""

    code = "ModelIdAlreadyExists"

    def __init__(self, *model_ids: str) -> None:
        super().__init__(
            f"Some of the model ids already exist: {', '.join(model_ids)}. "
            "A stored model cannot be changed; upload it under a new version."
        )
        self.model_ids = model_ids


class ModelReferenced(Conflict):
    """The model is extended or used as a component by other stored models."""

    code = "ModelReferencesNotDeleted"

    def __init__(self, model_id: str, referrers: tuple[str, ...]) -> None:
        super().__init__(
            f"The model {model_id} is currently being referenced by {', '.join(referrers)}. "
            "Delete the referring models first."
        )
        self.model_id = model_id
        self.referrers = referrers


class StateConflict(Conflict):
    """The present state of a resource does not allow the call; `state` is that state."""

    code = "StateConflict"

    def __init__(self, message: str, *, state: str) -> None:
        super().__init__(message)
        self.state = state


class TransactionOutdated(Conflict):
    """Another write came between what an explicit transaction has read and what it writes."""

    code = "TransactionOutdated"

    def __init__(self) -> None:
        super().__init__(
            "The graph was changed after this transaction had read it and before it wrote. "
            "Run it again."
        )


class TransactionFailed(Conflict):
    """An explicit transaction had an error after which it can only be rolled back."""

    code = "TransactionFailed"


class PreconditionFailed(TwinframeError):
    """`If-Match` or `If-None-Match` does not hold for the stored document; nothing was changed."""

    code = "PreconditionFailed"


class OperationRefused(TwinframeError):
    """One operation of a transaction was refused, so nothing was changed.

    `index` counts the operations from 0, `name` is the operation's name; `reason` is its own error,
    which gives code and status.
    """

    def __init__(self, index: int, name: str, reason: TwinframeError) -> None:
        super().__init__(f"Operation {index} ({name}): {reason.message}", details=reason.details)
        self.code = reason.code  # type: ignore[misc]  # this class has no code of its own
        self.index = index
        self.name = name
        self.reason = reason

    @property
    def public(self) -> str:
        """The message with the reason's public message."""
        return f"Operation {self.index} ({self.name}): {self.reason.public}"


# --- control plane --------------------------------------------------------------------------------


class ControlNotFound(NotFound):
    """No object of this kind and id exists, or the caller may not read it.

    SEC: both cases are one error with one text, so that it reveals nothing about the objects of
    others.
    """

    code = "ControlNotFound"

    def __init__(self, kind: str, record_id: str) -> None:
        super().__init__(f"There is no {kind} {record_id!r}.")
        self.kind = kind
        self.record_id = record_id


class ControlConflict(Conflict):
    """An id or name is taken already, or the object cannot be deleted while it contains others."""

    code = "ControlConflict"


class LastOwner(ControlConflict):
    """The change would leave an organization, or the platform, without a permanent owner."""

    code = "LastOwner"


class IdempotencyMismatch(ControlConflict):
    """An Idempotency-Key was used before with a different request."""

    code = "IdempotencyMismatch"


class GrantExceedsOwn(AccessError):
    """The caller would grant or revoke permissions that it does not hold itself.

    `grants` are those it lacks, or does not hold for as long.
    """

    code = "GrantExceedsOwn"

    def __init__(self, grants: tuple[str, ...]) -> None:
        super().__init__(
            f"The caller does not itself hold, or not for as long: {', '.join(grants)}. Nobody can "
            "grant or revoke more than they hold."
        )
        self.grants = grants


class QuotaExceeded(TwinframeError):
    """A quota of the resource's sku is used up (429 with `Retry-After` for a rate).

    `used` of `limit` of the `quota`, whose name is that in listings. `retry_after` is the seconds
    after which the same call may succeed if the quota is a rate; None means only after something is
    removed or the sku is changed.
    """

    code = "QuotaExceeded"

    def __init__(
        self, message: str, *, quota: str, limit: int, used: int, retry_after: int | None = None
    ) -> None:
        super().__init__(message)
        self.quota = quota
        self.limit = limit
        self.used = used
        self.retry_after = retry_after


# --- jobs -----------------------------------------------------------------------------------------


class ImportFileInvalid(InputError):
    """An import file cannot be read further, because its format is broken for a `reason` at `line`
    (0: not at a line), or at a `path` in a file that is one JSON document.
    """

    code = "ImportFileInvalid"

    def __init__(self, reason: str, *, line: int = 0, path: str = "") -> None:
        where = path or (f"Line {line}" if line else "")
        super().__init__(f"{where}: {reason}" if where else reason)
        self.reason = reason
        self.line = line
        self.path = path


class JobNotFound(NotFound):
    """No import job has this id."""

    code = "JobNotFound"

    def __init__(self, job_id: str) -> None:
        super().__init__(f"There is no import job with the ID {job_id}.")
        self.job_id = job_id


class DeleteJobNotFound(NotFound):
    """No delete job has this id."""

    code = "DeleteJobNotFound"

    def __init__(self, job_id: str) -> None:
        super().__init__(f"There is no delete job with the ID {job_id}.")
        self.job_id = job_id


class JobAlreadyExists(Conflict):
    """An import job with this id exists already, finished or not."""

    code = "JobIdAlreadyExists"

    def __init__(self, job_id: str) -> None:
        super().__init__(
            f"An import job with the ID {job_id} exists already. Delete it first, or choose "
            "another ID."
        )
        self.job_id = job_id


class JobStateRefused(InputError):
    """The state of a job does not allow the call, such as cancelling a finished job or deleting a
    running one.
    """

    code = "ValidationFailed"


class TooManyJobs(TwinframeError):
    """The limit of unfinished jobs is reached; `retry_after` is in seconds."""

    code = "TooManyRequests"
    retry_after = 30


class JobLimitReached(InputError):
    """The limit of stored jobs is reached, and too few of them are finished to remove one."""

    code = "JobLimitReached"


class LocationFailed(InputError):
    """A location that a job reads from or writes to is not available, or a transfer failed."""

    code = "BlobNotAvailable"


class UrlNotAllowed(InputError):
    """The operator does not allow the URL or path, or it leads to another location."""

    code = "UrlNotAllowed"


class RateExceeded(TwinframeError):
    """A caller exceeds its rate for a `kind` of operation (429 with `Retry-After`).

    `limit` is the rate in operations per second, `retry_after` the seconds after which to try
    again.
    """

    code = "TooManyRequests"

    def __init__(self, kind: str, limit: float, retry_after: int) -> None:
        super().__init__(
            f"You may send {limit:g} {kind} operations a second "
            f"(RateLimits__PerSecond__{kind.title()}); try again in {retry_after} s."
        )
        self.kind = kind
        self.limit = limit
        self.retry_after = retry_after


class MemoryExhausted(TwinframeError):
    """Other requests hold the memory that this one needs; nothing was done; try again.

    `part` is the memory's purpose, `setting` the setting that is used up.
    """

    code = "MemoryExhausted"

    def __init__(self, part: str, setting: str) -> None:
        super().__init__(
            f"The memory for {part} is used up for the moment ({setting}); nothing was done. Try "
            "again."
        )
        self.part = part
        self.setting = setting


class QueryRateExceeded(RateExceeded):
    """A caller exceeds its rate of queries, for which the vendor has a code of its own."""

    code = "QuotaReachedError"


# --- events ---------------------------------------------------------------------------------------


class EventRouteIdInvalid(InputError):
    """The id of an event route is invalid."""

    code = "EventRouteIdInvalid"


class EventRouteEndpointInvalid(InputError):
    """An event route names an endpoint that the operator has not configured."""

    code = "EventRouteEndpointInvalid"


class EventRouteFilterInvalid(InputError):
    """The filter of an event route is invalid; `line` counts from 1, `position` from 0.

    Both are those of the vendor's message.
    """

    code = "EventRouteFilterInvalid"

    def __init__(self, message: str, line: int = 1, position: int = 0) -> None:
        super().__init__(message)
        self.line = line
        self.position = position


class EventRouteNotFound(NotFound):
    """No event route has this id."""

    code = "EventRouteNotFound"

    def __init__(self, route_id: str) -> None:
        super().__init__(
            f"There is no route available that matches the provided input: {route_id}. "
            "GET /eventroutes lists them."
        )
        self.route_id = route_id


class SeriesNotFound(NotFound):
    """The twin has no values over time at this path, and its model declares nothing there."""

    code = "SeriesNotFound"

    def __init__(self, twin_id: str, path: str, known: Iterable[str]) -> None:
        super().__init__(f"{twin_id} has no series {path!r}. {render_hint(path, known, 'It has:')}")
        self.twin_id = twin_id
        self.path = path


class HistoryNotKept(TwinframeError):
    """The state that was asked for is from before the kept history; the message says what is."""

    code = "HistoryNotKept"


class EventsDisabled(InputError):
    """The service keeps no events, since `Events__Enabled` is off."""

    code = "EventsDisabled"


class TooManyStreams(StorageBusy):
    """The limit of clients that follow events is reached; the message names the limit."""

    code = "TooManyStreams"
