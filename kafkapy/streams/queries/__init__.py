"""Queries of the stores of a running application (KIP-67)."""
