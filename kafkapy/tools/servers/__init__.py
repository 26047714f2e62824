"""Starting, stopping and watching the processes of servers."""
