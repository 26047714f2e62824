"""Rotated and compressed files to topics, and topics to such files."""
