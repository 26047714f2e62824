"""Starting, stopping and watching servers' processes."""
