"""Values over time: telemetry kept as points, and questions about them."""
