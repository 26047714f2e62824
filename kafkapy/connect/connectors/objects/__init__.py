"""Records of topics to files in object stores, and files back to topics."""
