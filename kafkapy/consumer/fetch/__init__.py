"""Fetches records from the brokers: plans the requests, decodes the responses, buffers records until the user
polls."""
