"""Tools for partitions' offsets, leaders, replicas and directories."""
