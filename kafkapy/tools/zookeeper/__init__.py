"""ZooKeeper's tools: its server, shell, copies and ACLs."""
