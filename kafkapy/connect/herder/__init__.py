"""The herder: decides what a worker runs, and answers what users ask about connectors."""
