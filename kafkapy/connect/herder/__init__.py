"""The herder: decides what a worker runs, and serves requests about connectors."""
