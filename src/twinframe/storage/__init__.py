"""The storage interface, the runner that schedules its work, and the reference driver in memory."""
