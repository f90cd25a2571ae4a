"""Uploads: files that a client hands over in pieces, for an import job to read."""

from __future__ import annotations
