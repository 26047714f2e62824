"""Client quotas: which one holds, how much of it is used, how long a client has to wait (KIP-13, 55, 124, 599, 612)."""
