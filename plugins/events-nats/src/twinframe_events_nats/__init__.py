"""Events of twinframe to a NATS server."""
