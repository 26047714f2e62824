"""Errors of records: retries, tolerance, reports."""
