"""The server's side of SASL: one state machine for each mechanism, and the flow of a connection around them. No I/O."""
