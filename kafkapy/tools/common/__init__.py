"""Shared by the tools: command lines, clients from properties, progress."""
