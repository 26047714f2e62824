"""Authentication and authorization: principals, TLS, SASL, ACLs. Values and state machines without sockets."""
