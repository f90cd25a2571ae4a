"""Sends events of twinframe to an Apache Kafka cluster."""
