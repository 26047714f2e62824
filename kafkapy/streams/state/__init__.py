"""State stores: suppliers, builders and what processors see of them."""
