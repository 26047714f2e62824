"""The commands of Connect."""
