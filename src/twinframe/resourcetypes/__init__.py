"""The resource-type seam and its registry. The types themselves are plugins."""
