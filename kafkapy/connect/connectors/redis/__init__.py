"""Records of topics to Redis, and streams of Redis to topics."""
