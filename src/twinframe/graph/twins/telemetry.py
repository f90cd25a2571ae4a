"""The use case of telemetry: validates a message and puts it into the outbox for delivery."""

from __future__ import annotations

from dataclasses import dataclass

import orjson

from twinframe.errors import ComponentNotFound, InvalidArgument, LimitExceeded, TwinNotFound
from twinframe.graph.context.context import GraphContext
from twinframe.graph.context.model_cache import ModelCache
from twinframe.graph.documents.twins import METADATA, MODEL, build_failure, list_parts
from twinframe.graph.events.recorder import Sender
from twinframe.graph.series.series import Series
from twinframe.model.ids import parse_component_name, parse_twin_id
from twinframe.model.values import JsonValue
from twinframe.storage.base import GraphSession, GraphTransaction

_MAX_MESSAGE_ID = 1024


@dataclass(frozen=True, slots=True)
class _Message:
    """One message, and finding its sender."""

    twin_id: str
    component: str | None
    message_id: str
    source_time: str | None
    payload: JsonValue

    def find_sender(self, session: GraphSession, models: ModelCache) -> Sender:
        """Return its sender; `TwinNotFound`, `ComponentNotFound`."""
        stored = session.read_twin(self.twin_id)
        if stored is None:
            raise TwinNotFound(self.twin_id)
        document = orjson.loads(stored.body)
        if self.component is not None and self.component not in list_parts(document):
            raise ComponentNotFound(self.twin_id, self.component)
        model_id: str = document[METADATA][MODEL]
        if self.component is None:
            return Sender(model_id, model_id)
        model = models.open(session).find(model_id)  # it may have been deleted
        part = None if model is None else model.interface.components.get(self.component)
        return Sender(model_id, None if part is None else part.schema)

    def record(self, transaction: GraphTransaction, context: GraphContext) -> None:
        """Put the message into the outbox, if there is one."""
        if context.recorder.is_silent:
            return
        context.recorder.record_telemetry(
            transaction,
            self.twin_id,
            self.component,
            self.find_sender(transaction, context.models),
            self.message_id,
            self.source_time,
            self.payload,
        )


class Telemetry:
    """Accepts telemetry of twins and of their components."""

    def __init__(self, context: GraphContext, series: Series) -> None:
        self._context = context
        self._series = series

    async def publish(
        self,
        twin_id: str,
        component: str | None,
        payload: JsonValue,
        message_id: str,
        source_time: str | None = None,
    ) -> None:
        """Accept one message of a twin, or of its component when one is named.

        SPEC: the vendor accepts any JSON object, whatever the model says of telemetry, and any text
        as source time. Errors: `InvalidArgument`, `TwinNotFound`, `ComponentNotFound`,
        `ValidationFailed`, `LimitExceeded`.
        """
        if not message_id or len(message_id) > _MAX_MESSAGE_ID:
            raise InvalidArgument(
                f"Message-Id must have 1 to {_MAX_MESSAGE_ID} characters, "
                f"this one has {len(message_id)}."
            )
        parse_twin_id(twin_id)
        if component is not None:
            parse_component_name(component)
        message = _Message(twin_id, component, message_id, source_time, payload)
        context = self._context.join_request()
        models = context.models
        # An invalid message need not wait for the writer lock; the transaction decides races.
        sender = await context.runner.read(lambda session: message.find_sender(session, models))
        members = self._check(payload)
        # Kept first: a message that is sent again gives the same points, and another event.
        await self._series.keep(twin_id, component, sender.model_id, members, source_time)
        if not context.recorder.is_silent:
            await context.write(lambda transaction: message.record(transaction, context))
            context.signal.set()

    def _check(self, payload: JsonValue) -> dict[str, JsonValue]:
        if not isinstance(payload, dict):
            raise build_failure("Telemetry must be a JSON object.")
        size, most = len(orjson.dumps(payload)), self._context.settings.graph.max_twin_bytes
        if size > most:
            raise LimitExceeded(f"The telemetry has {size} bytes; at most {most} are taken.")
        return payload
