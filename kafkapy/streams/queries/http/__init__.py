"""Queries of stores over HTTP, across the instances of an application."""
