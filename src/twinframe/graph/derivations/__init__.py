"""Derived properties: values that the service computes from the graph and keeps true."""
