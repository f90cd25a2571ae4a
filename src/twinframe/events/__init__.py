"""The event envelope, outbox and sinks. Not built yet: telemetry is checked, not delivered."""
