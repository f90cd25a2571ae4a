"""What one large graph needs: measured service times, queues, and a simulation of shards."""
