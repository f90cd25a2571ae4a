"""Stores the history of twinframe as tables of Parquet files."""
