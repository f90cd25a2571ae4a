"""Rewrites the algebra to equal but faster plans, and splits them between a store and the
evaluator.
"""
