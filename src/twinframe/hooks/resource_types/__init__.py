"""The interface of resource types and their registry; the types themselves are plugins."""
