"""The broker's security: TLS and SASL of listeners, authorization, tokens, audit."""
