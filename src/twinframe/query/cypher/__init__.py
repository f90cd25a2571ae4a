"""Parses query text of both languages into the logical algebra."""
