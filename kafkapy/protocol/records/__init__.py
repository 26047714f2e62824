"""Keys and values of the records that brokers write for themselves."""
