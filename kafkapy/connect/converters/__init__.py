"""Converters between Connect's data and bytes."""
