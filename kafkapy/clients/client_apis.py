"""APIs that a client may request: those of `ApiKey`, and some that only other kinds of brokers serve."""

from __future__ import annotations

from kafkapy.protocol.api_keys import ApiKey
from kafkapy.protocol.message import Message


class OtherApi(int):
    """An API outside `ApiKey`, with the same attributes. All its versions are flexible."""

    name: str
    title: str
    min_version: int
    max_version: int
    response: type[Message]

    def request_header_version(self, version: int) -> int:
        return 2

    def response_header_version(self, version: int) -> int:
        return 1


Api = ApiKey | OtherApi

_APIS: dict[int, Api] = {int(api_key): api_key for api_key in ApiKey}


def api_of(key: int) -> Api:
    """Return the API of a message's `API_KEY`."""
    return _APIS[key]


def register(name: str, request: type[Message], response: type[Message]) -> None:
    """Register an API; `name` is Kafka's, in camel case."""
    api = OtherApi(request.API_KEY)
    api.name = api.title = name
    api.min_version, api.max_version = request.VERSIONS
    api.response = response
    _APIS[request.API_KEY] = api
