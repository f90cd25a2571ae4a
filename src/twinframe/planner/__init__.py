"""Rewrites of the algebra with equal results, and the cut between a store and the evaluator."""
