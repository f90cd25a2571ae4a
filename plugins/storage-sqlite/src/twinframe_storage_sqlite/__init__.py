"""SQLite storage for twinframe: one durable file a graph, Cypher compiled to SQL."""
