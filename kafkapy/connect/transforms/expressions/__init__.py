"""Transforms by expressions in the syntax of Python, which are evaluated safely."""
