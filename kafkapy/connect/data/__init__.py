"""Schemas and data of Connect."""
