"""HTTP servers of this house (schema registry, proxy): twisted.web, listeners, TLS, basic authentication, content types."""
