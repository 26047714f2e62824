"""Operators that take Arrow record batches in place of records."""
