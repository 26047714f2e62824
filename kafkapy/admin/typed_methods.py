"""The core's operations as blocking methods. What type checkers and editors see is the stub beside this file."""

from __future__ import annotations

from kafkapy.admin.core import AdminCore
from kafkapy.admin.router import Router
from kafkapy.clients.facade import delegates_to


@delegates_to(AdminCore, beneath=Router)
class TypedMethods:
    """The methods of `AdminClient`."""
