"""Transforms of single records, and predicates that decide which records are transformed."""
