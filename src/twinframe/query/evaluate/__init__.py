"""The reference engine: runs any plan over the port `GraphReader`."""
