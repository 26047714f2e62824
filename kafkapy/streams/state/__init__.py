"""State stores: suppliers, builders, and the interfaces for processors."""
