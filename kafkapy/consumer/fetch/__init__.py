"""From positions to records: what is asked of which broker, what came, and what the user has not taken yet."""
