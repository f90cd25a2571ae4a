"""Sends events of twinframe to a NATS server."""
