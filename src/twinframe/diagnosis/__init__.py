"""What may be wrong with an installation, found by looking at its machine. It mends nothing."""
