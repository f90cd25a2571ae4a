"""Compiles the logical algebra into one SQLite statement. It neither stores nor opens anything."""
