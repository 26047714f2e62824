"""Decisions by access control lists, as in `kafka.security.authorizer.AclAuthorizer`. Pure: no I/O, no clock."""
