"""kafka-cluster-local."""
