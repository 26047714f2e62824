"""What the faces of a client have in common: options, and methods that a core has the work of.

A core's operations are coroutine methods, written once. A face gets them by `delegates_to`, which is done when the program
runs, so that type checkers and editors see nothing of it. For them there is a stub: the face takes its methods from a base
class in a module of its own (`admin/methods.py`), and `kafkapy/tools/face_stubs.py` writes the `.pyi` beside that,
with the names, arguments, results and docstrings of the core, once for each kind of face: values for the blocking one,
coroutines for `kafkapy.aio`, `Deferred`s for `kafkapy.tx`. bin/setup.sh and the build of a wheel run it; nobody keeps
the stubs, so run `python -m kafkapy.tools.face_stubs` after an edit of a core. What only one face has (the constructor, `close`,
iteration) stays in the face, whose own source is checked as any other. To give another client typed faces: annotate its core's
operations with what users get, add such a module, and a row to `FACES`.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Mapping
from typing import Any, TypeVar

from kafkapy.clients.option_table import unrecognized
from kafkapy.errors import KafkaConfigurationError

C = TypeVar("C", bound=type)

NOT_SUPPORTED: dict[str, Any] = {
    "sasl_kerberos_name": None,
    "sasl_kerberos_service_name": "kafka",
    "sasl_kerberos_domain_name": None,
    "proxy_url": None,
    "socks5_proxy": None,
    "selector": None,
    "kafka_client": None,
    "metric_reporters": [],
}
"""kafka-python's options that these clients have no use for, with the values that say nothing."""


_HAVE_NO_EFFECT = ("bootstrap_topics_filter", "legacy_iterator", "sock_chunk_buffer_count", "sock_chunk_bytes")
"""Options of kafka-python 2 for what works otherwise here."""


def without_old_options(given: Mapping[str, Any]) -> dict[str, Any]:
    """Options of kafka-python 2 under their names of today; what has no effect is left out."""
    options = {name: value for name, value in given.items() if name not in _HAVE_NO_EFFECT}
    patience = options.pop("api_version_auto_timeout_ms", None)
    if patience is not None:
        options.setdefault("bootstrap_timeout_ms", patience)
    return options


def merge_options(defaults: Mapping[str, Any], given: Mapping[str, Any]) -> dict[str, Any]:
    """The defaults with what a user gave. Raises KafkaConfigurationError for options that are unknown, or known from
    kafka-python and not supported."""
    given = without_old_options(given)
    unknown = sorted(set(given) - set(defaults) - set(NOT_SUPPORTED))
    if unknown:
        raise KafkaConfigurationError(f"Unrecognized configs: {', '.join(unknown)}{unrecognized(unknown, defaults)}")
    for name in NOT_SUPPORTED.keys() & given.keys():
        if given[name] != NOT_SUPPORTED[name] and not (name == "metric_reporters" and not given[name]):
            raise KafkaConfigurationError(f"The option {name} is not supported")
    return {**defaults, **{name: value for name, value in given.items() if name not in NOT_SUPPORTED}}


def shows_options(defaults: Mapping[str, Any]) -> Callable[[C], C]:
    """Class decorator: `help` and `inspect.signature` see the options of a face, with their defaults."""

    def decorate(face: C) -> C:
        init = face.__init__  # type: ignore[misc]
        before = inspect.signature(init).parameters.values()
        parameters = [parameter for parameter in before if parameter.kind is not inspect.Parameter.VAR_KEYWORD]
        kind = inspect.Parameter.KEYWORD_ONLY
        parameters += [inspect.Parameter(name, kind, default=default) for name, default in defaults.items()]
        init.__signature__ = inspect.Signature(parameters)
        return face

    return decorate


def operations(core: type, beneath: type = object) -> dict[str, Callable[..., Any]]:
    """The coroutine methods of a core that are for users: public ones that its base `beneath` doesn't have, and whose first
    argument is no `call` (such are parts of operations)."""
    found = {}
    for name, method in inspect.getmembers(core, inspect.iscoroutinefunction):
        is_part = list(inspect.signature(method).parameters)[1:2] == ["call"]
        if not name.startswith("_") and not hasattr(beneath, name) and not is_part:
            found[name] = method
    return found


def delegates_to(core: type, *, coroutines: bool = False) -> Callable[[C], C]:
    """Class decorator: gives a face each of `operations(core)`, name, signature and documentation alike.

    The face's `_run(name, *args, **kwargs)` starts the core's method and gives what its users get; `coroutines`: that is
    awaited, by methods that are coroutine functions. What the face defines by itself stays.
    """

    def decorate(face: C) -> C:
        for name, method in operations(core).items():
            if name not in vars(face):
                setattr(face, name, _delegate(name, method, coroutines))
        return face

    return decorate


def _delegate(name: str, method: Callable[..., Any], coroutine: bool) -> Any:
    def given(self: Any, *args: Any, **kwargs: Any) -> Any:
        return self._run(name, *args, **kwargs)

    async def awaited(self: Any, *args: Any, **kwargs: Any) -> Any:
        return await self._run(name, *args, **kwargs)

    delegate: Any = awaited if coroutine else given
    functools.update_wrapper(delegate, method)
    delegate.__signature__ = inspect.signature(method)
    del delegate.__wrapped__  # `inspect` must not take `given` for a coroutine function
    result: Callable[..., Any] = delegate
    return result
