"""Keys and values of the records in brokers' internal topics."""
