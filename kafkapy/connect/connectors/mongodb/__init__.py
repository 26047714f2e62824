"""Records of topics to documents of MongoDB, and changes of documents to topics."""
