"""Queries: two languages to one algebra, its rewrites, and the engine that runs any plan."""
