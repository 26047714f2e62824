"""Client quotas: configured limits, usage, and throttle times (KIP-13, 55, 124, 599, 612)."""
