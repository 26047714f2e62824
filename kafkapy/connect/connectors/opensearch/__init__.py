"""Records of topics to documents of OpenSearch and Elasticsearch."""
