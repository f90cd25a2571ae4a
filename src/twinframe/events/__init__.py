"""The event envelope, the outbox and its sinks. Not built yet: telemetry is checked, not sent on."""
