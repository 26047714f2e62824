"""Who a peer is and what it may do: principals, TLS, SASL, ACLs. Values and state machines without sockets."""
