"""The server side of SASL: a state machine per mechanism, and the authentication of a connection. No I/O."""
