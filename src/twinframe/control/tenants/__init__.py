"""Tenants: organizations, projects, users, roles, and who may do what where."""
