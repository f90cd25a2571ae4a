"""Compiles a plan of the logical algebra into one SQLite statement."""
