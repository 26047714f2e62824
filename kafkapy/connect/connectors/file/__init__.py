"""Lines of files to topics, and records of topics to lines of files."""
