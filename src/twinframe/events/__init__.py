"""Events: their form, the filters that choose among them, where they go. It delivers none."""
