"""Records of topics to HTTP requests, and HTTP answers to topics."""
