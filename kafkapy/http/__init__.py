"""HTTP servers of this house (schema registry, proxy): connections, listeners, TLS, basic authentication, content types."""
