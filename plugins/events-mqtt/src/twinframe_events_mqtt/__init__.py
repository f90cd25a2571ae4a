"""Sends events of twinframe to an MQTT 5 broker."""
