"""The records of the control plane: documents, names, scopes, kept answers, the runner."""
