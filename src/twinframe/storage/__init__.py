"""The storage seam, the runner that places its work, and the reference driver in memory."""
