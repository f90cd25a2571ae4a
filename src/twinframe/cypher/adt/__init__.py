"""The vendor's SQL-like query language, read into the same algebra. It runs nothing."""
