"""Decisions by access control lists, as `kafka.security.authorizer.AclAuthorizer` takes them. Pure: no I/O, no clock."""
