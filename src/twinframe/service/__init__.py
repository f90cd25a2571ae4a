"""The composition root: builds graphs and the service from settings, plugins, use cases and HTTP.

PERF: this package imports nothing itself: what opens a graph only (`opening`) does not load HTTP.
"""
