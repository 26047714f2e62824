"""Builds the facades of a client (blocking, asyncio, Twisted): options, and methods that delegate to the core.

A core's operations are coroutine methods, written once. `delegates_to` adds them to a facade at run time, where type
checkers and editors can't see them. For these there is a stub: the facade inherits its methods from a base class in a
separate module (`admin/methods.py`), and `kafkapy/tools/face_stubs.py` writes the `.pyi` beside it,
with the names, arguments, results and docstrings of the core, once for each kind of facade: values for the blocking
one, coroutines for `kafkapy.aio`, `Deferred`s for `kafkapy.tx`. bin/setup.sh and the build of a wheel run it; the
stubs aren't in the repository, so run `python -m kafkapy.tools.face_stubs` after a change of a core. Members that only
one facade has (the constructor, `close`, iteration) are in its own source. To add typed facades for another client:
annotate its core's operations with the results for users, add such a module, and a row to `FACES`.
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
"""kafka-python's options without a counterpart here, with the values at which they are accepted."""


_HAVE_NO_EFFECT = ("bootstrap_topics_filter", "legacy_iterator", "sock_chunk_buffer_count", "sock_chunk_bytes")
"""Options of kafka-python 2 for its internals, which differ here."""


def without_old_options(given: Mapping[str, Any]) -> dict[str, Any]:
    """Rename kafka-python 2's options to their current names; omit those without effect."""
    options = {name: value for name, value in given.items() if name not in _HAVE_NO_EFFECT}
    patience = options.pop("api_version_auto_timeout_ms", None)
    if patience is not None:
        options.setdefault("bootstrap_timeout_ms", patience)
    return options


def merge_options(defaults: Mapping[str, Any], given: Mapping[str, Any]) -> dict[str, Any]:
    """Merge the user's options into the defaults.

    Raises KafkaConfigurationError for unknown options, and for kafka-python's that are not supported.
    """
    given = without_old_options(given)
    unknown = sorted(set(given) - set(defaults) - set(NOT_SUPPORTED))
    if unknown:
        raise KafkaConfigurationError(f"Unrecognized configs: {', '.join(unknown)}{unrecognized(unknown, defaults)}")
    for name in NOT_SUPPORTED.keys() & given.keys():
        if given[name] != NOT_SUPPORTED[name] and not (name == "metric_reporters" and not given[name]):
            raise KafkaConfigurationError(f"The option {name} is not supported")
    return {**defaults, **{name: value for name, value in given.items() if name not in NOT_SUPPORTED}}


def shows_options(defaults: Mapping[str, Any]) -> Callable[[C], C]:
    """Class decorator that shows the options and their defaults in `help` and `inspect.signature`."""

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
    """Return the coroutine methods of a core that are for users.

    These are the public ones that its base `beneath` doesn't have, except those with a first argument `call`: parts of
    operations.
    """
    found = {}
    for name, method in inspect.getmembers(core, inspect.iscoroutinefunction):
        is_part = list(inspect.signature(method).parameters)[1:2] == ["call"]
        if not name.startswith("_") and not hasattr(beneath, name) and not is_part:
            found[name] = method
    return found


def delegates_to(core: type, *, coroutines: bool = False) -> Callable[[C], C]:
    """Class decorator that adds each of `operations(core)` to a facade, with name, signature and documentation.

    The facade's `_run(name, *args, **kwargs)` starts the core's method and returns the result for users. `coroutines`:
    the added methods are coroutine functions, which await that result. Methods that the facade defines itself are
    kept.
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
    del delegate.__wrapped__  # else `inspect` would take `given` for a coroutine function
    result: Callable[..., Any] = delegate
    return result
