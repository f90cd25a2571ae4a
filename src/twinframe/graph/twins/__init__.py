"""Use cases of twins, components and relationships, one at a time, in bulk, in transactions."""
