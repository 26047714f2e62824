"""What the tools share: command lines, clients from properties, progress."""
