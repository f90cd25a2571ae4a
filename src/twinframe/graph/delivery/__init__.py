"""Delivery of events: routes, their progress, sending in order per twin, dead letters."""
