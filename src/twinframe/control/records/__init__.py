"""The records of the control plane: kinds, documents, names, scopes, kept answers, the runner."""
