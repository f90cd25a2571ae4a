"""The event-sink seam: what an endpoint promises, and what sinks share."""
