"""Requests and responses, one module for each API, named after its `ApiKey`."""
