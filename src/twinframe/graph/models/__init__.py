"""Use cases of models: upload, list, decommission, delete, and outlines for readers."""
