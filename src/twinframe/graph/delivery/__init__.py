"""Delivery of events: routes, where each stands, sending in order per twin, dead letters."""
