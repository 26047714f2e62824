"""Questions to the stores of a running application (KIP-67)."""
