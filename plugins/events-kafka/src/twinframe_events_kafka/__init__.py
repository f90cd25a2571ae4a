"""Events of twinframe to an Apache Kafka cluster."""
