"""Compiles plans of queries to SQL of PostgreSQL: a dialect of the core's relational layer."""
