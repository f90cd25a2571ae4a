"""Resources: what callers ask for, their states, and the reconciler that brings them up."""
