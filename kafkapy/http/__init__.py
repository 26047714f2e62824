"""The HTTP server of the schema registry and the proxy: connections, listeners, TLS, basic authentication, content
types."""
