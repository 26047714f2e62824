"""The configs of MirrorMaker's connectors, of its client, and of the dedicated mode."""
