"""What the service tells of its own work: measurements, spans, slow queries. It does none of it."""
