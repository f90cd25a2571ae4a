"""RDF storage for twinframe."""
