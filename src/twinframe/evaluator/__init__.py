"""The reference engine: runs any plan over the port `GraphReader`. It makes no plan."""
