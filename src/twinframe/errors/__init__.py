"""The tree of errors that twinframe raises on purpose, each with a stable code and typed fields.

`web.errors` alone maps this tree to HTTP, and `mcp.errors` alone to MCP.
"""

from __future__ import annotations

from twinframe.errors.base import ErrorDetail as ErrorDetail
from twinframe.errors.base import TwinframeError as TwinframeError
from twinframe.errors.storage import StorageBusy as StorageBusy
from twinframe.errors.storage import StorageDamaged as StorageDamaged
from twinframe.errors.storage import StorageError as StorageError
from twinframe.errors.storage import StorageFull as StorageFull
from twinframe.errors.storage import StorageUnanswered as StorageUnanswered

# --- start-up -------------------------------------------------------------------------------


class ConfigurationError(TwinframeError):
    """The installation or its settings are wrong; the service does not start."""

    code = "ConfigurationError"

    @property
    def public(self) -> str:
        """SEC: messages quote settings, whose values may be secrets."""
        return "The service is not set up for this. Its log says what is wrong."


class SettingsError(ConfigurationError):
    """A setting is unknown or has a bad value; `details` holds one entry a setting."""

    code = "SettingsError"


class PluginError(ConfigurationError):
    """A plugin is missing, doubled, fails to import or breaks its seam's contract."""

    code = "PluginError"


# --- access -----------------------------------------------------------------------------------


class AccessError(TwinframeError):
    """The caller is not known, or may not do this."""

    code = "Forbidden"


class Unauthenticated(AccessError):
    """No valid credentials. `message` is for the caller; `reason` is for the log alone.

    SEC: the message is one and the same whatever is wrong with a credential.
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


class InputError(TwinframeError):
    """The request itself is wrong; repeating it unchanged cannot succeed."""

    code = "InvalidArgument"


class InvalidArgument(InputError):
    """An id, header, parameter or body has a form that is not accepted."""

    code = "InvalidArgument"


class BadRequest(InputError):
    """A body is required and none was sent, or a continuation token is damaged, expired, or of
    another listing, query or instance.
    """

    code = "BadRequest"


class EmptyBody(BadRequest):
    """A body is required and none was sent."""


class MissingArgument(InputError):
    """A required argument is absent."""

    code = "MissingArgument"


class LimitExceeded(InputError):
    """A limit of the service (a setting) was passed; the message names limit and figure."""

    code = "LimitExceeded"


class MemoryLimitExceeded(LimitExceeded):
    """One request asks for more memory than it could ever have.

    `part` is what for, `setting` the one with its share, `limit` in bytes.
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
    """Elements of a JSON Patch are not objects: the vendor answers this with problem+json.

    `positions` are the zero-based indexes of the offending elements.
    """

    def __init__(self, message: str, *, positions: tuple[int, ...]) -> None:
        super().__init__(message)
        self.positions = positions


class ValidationFailed(InputError):
    """A document does not conform to its model; `details` holds one entry a violation."""

    code = "ValidationFailed"


class ModelParsingFailed(InputError):
    """DTDL documents break the language's rules; `details` holds one entry a rule broken."""

    code = "DTDLParserError"


class ModelVersionNotSupported(InputError):
    """A DTDL document asks for a language version that is not supported."""

    code = "ModelVersionNotSupported"


class ModelDecommissioned(InputError):
    """A new twin names a decommissioned model."""

    code = "ModelDecommissioned"


class InvalidRelationship(InputError):
    """A relationship does not align with the model of its source twin."""

    code = "InvalidRelationship"


class OperationNotAllowed(InputError):
    """The operation is well formed but never allowed, such as a twin related to itself."""

    code = "OperationNotAllowed"


class RelationshipsNotDeleted(InputError):
    """A twin cannot be deleted while relationships start or end at it."""

    code = "RelationshipsNotDeleted"


class QueryInvalid(InputError):
    """A query text is refused before it runs (or fails by its own values while running).

    `kind` and `detail` are the openCypher error kind (`SyntaxError`, `TypeError`, ...) and detail
    (`UndefinedVariable`, ...); `phase` is `compile time` or `runtime`; `line` and `column` count
    from 1 and are 0 where there is no position; `excerpt` is the source line with a caret below it.
    `offset` is where in the text a value was refused, until who knows the text says it as these.
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
    """A SPARQL text is refused before it runs, or asks for what the endpoint does not give."""

    code = "SparqlQueryError"


class QueryTimeout(InputError):
    """A query passed its deadline and was interrupted; nothing is left running."""

    code = "TimeoutError"


# --- what this installation cannot do ---------------------------------------------------------


class Unsupported(TwinframeError):
    """This installation cannot do it, as it is set up; the message says what it takes."""

    code = "NotImplemented"


# --- things that are not there ----------------------------------------------------------------


class NotFound(TwinframeError):
    """What the request names does not exist."""

    code = "NotFound"


class TwinNotFound(NotFound):
    """No twin has this id."""

    code = "DigitalTwinNotFound"

    def __init__(self, twin_id: str) -> None:
        super().__init__(f"There is no digital twin instance that exists with the ID {twin_id}.")
        self.twin_id = twin_id


class TargetTwinNotFound(NotFound):
    """The target twin of a relationship to be written does not exist."""

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
    """No graph is at this address, or the caller may do nothing there.

    SEC: the two are one error with one text, so that it tells nothing about what others have.
    """

    code = "GraphNotFound"

    def __init__(self) -> None:
        super().__init__("There is no graph at this address.")


# --- conflicts with the present state -----------------------------------------------------------


class Conflict(TwinframeError):
    """The request is well formed but the present state does not allow it."""

    code = "Conflict"


class ModelAlreadyExists(Conflict):
    """One or more of the uploaded model ids are taken; nothing of the upload was stored."""

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
    """The state of a resource does not allow the call; `state` is the one it has."""

    code = "StateConflict"

    def __init__(self, message: str, *, state: str) -> None:
        super().__init__(message)
        self.state = state


class PreconditionFailed(TwinframeError):
    """`If-Match` or `If-None-Match` does not hold for the stored document; nothing was changed."""

    code = "PreconditionFailed"


class OperationRefused(TwinframeError):
    """One operation of a transaction was refused, and with it the whole: nothing was changed.

    `index` counts the operations from 0, `name` is what it does; `reason` is the operation's own
    error, which gives code and status.
    """

    def __init__(self, index: int, name: str, reason: TwinframeError) -> None:
        super().__init__(f"Operation {index} ({name}): {reason.message}", details=reason.details)
        self.code = reason.code  # type: ignore[misc]  # this class has no code of its own
        self.index = index
        self.name = name
        self.reason = reason

    @property
    def public(self) -> str:
        """With the reason as clients are given it."""
        return f"Operation {self.index} ({self.name}): {self.reason.public}"


# --- control plane --------------------------------------------------------------------------------


class ControlNotFound(NotFound):
    """Nothing of this kind and id exists, or the caller may not read it.

    SEC: the two are one error with one text, so that it tells nothing about what others have.
    """

    code = "ControlNotFound"

    def __init__(self, kind: str, record_id: str) -> None:
        super().__init__(f"There is no {kind} {record_id!r}.")
        self.kind = kind
        self.record_id = record_id


class ControlConflict(Conflict):
    """An id or name is taken, or something cannot be deleted while it holds other things."""

    code = "ControlConflict"


class LastOwner(ControlConflict):
    """The change would leave an organization, or the platform, without an owner who stays."""

    code = "LastOwner"


class IdempotencyMismatch(ControlConflict):
    """An Idempotency-Key came again with another request than the first one."""

    code = "IdempotencyMismatch"


class GrantExceedsOwn(AccessError):
    """The caller would give or take away what it does not hold itself.

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
    """What the sku of a resource allows is used up (429 with `Retry-After` for a rate).

    `used` of `limit` of the `quota`, which is named as in lists. `retry_after` is in how many
    seconds the same call may succeed: the quota is a rate. None: not before something is removed or
    the sku is changed.
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
    """A file to be imported cannot be read on: its form is broken at `line` (0: not at a line)."""

    code = "ImportFileInvalid"

    def __init__(self, message: str, *, line: int = 0) -> None:
        super().__init__(f"Line {line}: {message}" if line else message)
        self.line = line


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
    """An import job of this id exists, finished or not."""

    code = "JobIdAlreadyExists"

    def __init__(self, job_id: str) -> None:
        super().__init__(
            f"An import job with the ID {job_id} exists already. Delete it first, or choose "
            "another ID."
        )
        self.job_id = job_id


class JobStateRefused(InputError):
    """The state of a job does not allow this: cancelling a finished one, deleting a running one."""

    code = "ValidationFailed"


class TooManyJobs(TwinframeError):
    """As many jobs as may be are unfinished; `retry_after` is in seconds."""

    code = "TooManyRequests"
    retry_after = 30


class JobLimitReached(InputError):
    """As many jobs as may be are kept, and too few have ended for one to be forgotten."""

    code = "JobLimitReached"


class PlaceFailed(InputError):
    """A place that a job reads from or writes to cannot be had, or does not do its part."""

    code = "BlobNotAvailable"


class UrlNotAllowed(InputError):
    """A URL or path that the operator does not allow, or that leads somewhere else."""

    code = "UrlNotAllowed"


class RateExceeded(TwinframeError):
    """A caller is ahead of its rate for a `kind` of operation (429 with `Retry-After`).

    `limit` is the rate in operations a second, `retry_after` in how many seconds to try again.
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
    """Others hold the memory that this would take; nothing was done; try again.

    `part` is what it was for, `setting` the one that was used up.
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
    """The same for queries, which the vendor gives a code of their own."""

    code = "QuotaReachedError"


# --- events ---------------------------------------------------------------------------------------


class EventRouteIdInvalid(InputError):
    """The id of an event route has a form that none can have."""

    code = "EventRouteIdInvalid"


class EventRouteEndpointInvalid(InputError):
    """An event route names an endpoint that the operator has not configured."""

    code = "EventRouteEndpointInvalid"


class EventRouteFilterInvalid(InputError):
    """The filter of an event route is none; `line` counts from 1, `position` from 0.

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


class EventsDisabled(InputError):
    """The service keeps no events: `Events__Enabled` is off."""

    code = "EventsDisabled"


class TooManyStreams(StorageBusy):
    """As many clients follow events as may; the message names the limit."""

    code = "TooManyStreams"
