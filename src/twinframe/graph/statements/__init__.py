"""The use case of statements in Cypher that write: as twins of models, or on an open graph."""
