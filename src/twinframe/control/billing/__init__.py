"""Billing: prices, accounts, usage, statements and quotas. Payment providers collect the money."""
