"""Instruments of the service: metrics, traces, and the slow-query log."""
