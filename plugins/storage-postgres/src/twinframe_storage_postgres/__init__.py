"""PostgreSQL storage for twinframe: a graph in a schema of a database that many nodes share."""
