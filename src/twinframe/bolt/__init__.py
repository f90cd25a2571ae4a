"""Bolt: the protocol of Neo4j's drivers, as a server in front of the graphs' use cases."""
