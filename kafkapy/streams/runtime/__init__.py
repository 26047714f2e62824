"""The runtime of tasks: clients, threads, state directories."""
