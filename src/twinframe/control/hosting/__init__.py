"""Hosted graphs: made for a resource, opened when asked for, served, metered, backed up."""
