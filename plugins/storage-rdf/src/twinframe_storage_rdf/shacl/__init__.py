"""Validation of twins by the SHACL shapes of their models: read in batches, judged elsewhere."""
