"""Use case of telemetry: checked and accepted. Delivery to anybody is not done here."""

from __future__ import annotations

import orjson

from twinframe.errors import ComponentNotFound, InvalidArgument, LimitExceeded, TwinNotFound
from twinframe.graph.context import GraphContext
from twinframe.graph.twin_documents import build_failure, list_parts
from twinframe.model.ids import parse_component_name, parse_twin_id
from twinframe.model.values import JsonValue

_MAX_MESSAGE_ID = 1024


class Telemetry:
    """Accepting telemetry of twins and of their components."""

    def __init__(self, context: GraphContext) -> None:
        self._context = context

    async def publish(
        self,
        twin_id: str,
        component: str | None,
        payload: JsonValue,
        message_id: str,
        source_time: str | None = None,
    ) -> None:
        """Accept one message of a twin, or of its component when one is named.

        SPEC: the vendor takes any JSON object, whatever the model says of telemetry, and any text
        as source time. Errors: `InvalidArgument`, `TwinNotFound`, `ComponentNotFound`,
        `ValidationFailed`, `LimitExceeded`.
        """
        del source_time
        if not message_id or len(message_id) > _MAX_MESSAGE_ID:
            raise InvalidArgument(
                f"Message-Id must have 1 to {_MAX_MESSAGE_ID} characters, "
                f"this one has {len(message_id)}."
            )
        parse_twin_id(twin_id)
        if component is not None:
            parse_component_name(component)
        stored = await self._context.runner.read(lambda session: session.read_twin(twin_id))
        if stored is None:
            raise TwinNotFound(twin_id)
        if component is not None and component not in list_parts(orjson.loads(stored.body)):
            raise ComponentNotFound(twin_id, component)
        self._check(payload)

    def _check(self, payload: JsonValue) -> None:
        if not isinstance(payload, dict):
            raise build_failure("Telemetry must be a JSON object.")
        size, most = len(orjson.dumps(payload)), self._context.settings.graph.max_twin_bytes
        if size > most:
            raise LimitExceeded(f"The telemetry has {size} bytes; at most {most} are taken.")
