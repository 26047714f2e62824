"""Tools for offsets, leaders, replicas and log directories of partitions."""
