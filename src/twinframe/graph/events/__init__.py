"""Events: their format, the filters of event routes, and the sinks that deliver them."""
