"""Prices, accounts, usage, statements and quotas. It moves no money: that is a provider's."""
