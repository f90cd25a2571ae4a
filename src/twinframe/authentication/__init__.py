"""Who is calling, and may they: tokens, API keys, the gate in front of every use case."""
