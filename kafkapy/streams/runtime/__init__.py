"""What runs tasks: clients, threads, directories."""
