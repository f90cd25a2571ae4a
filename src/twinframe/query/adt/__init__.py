"""Parses the vendor's SQL-like query language into the same algebra."""
