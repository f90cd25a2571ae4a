"""SQLite storage for twinframe: one durable file per graph, and Cypher compiled to SQL."""
