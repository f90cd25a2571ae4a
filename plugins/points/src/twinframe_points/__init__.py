"""Values of twins over time, as compressed columns in an SQLite file beside the graph."""
