"""Indexes that come by themselves: what queries asked for, what would serve them, what is made."""
