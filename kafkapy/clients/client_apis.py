"""APIs that a client may ask for: those of `ApiKey`, and some that only other brokers serve."""

from __future__ import annotations

from kafkapy.protocol.api_keys import ApiKey
from kafkapy.protocol.message import Message


class OtherApi(int):
    """An API that is no member of `ApiKey`, with the attributes of one. All its versions are flexible."""

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
    """The API of a message's `API_KEY`."""
    return _APIS[key]


def register(name: str, request: type[Message], response: type[Message]) -> None:
    """Make an API known; `name` is Kafka's, in camel case."""
    api = OtherApi(request.API_KEY)
    api.name = api.title = name
    api.min_version, api.max_version = request.VERSIONS
    api.response = response
    _APIS[request.API_KEY] = api
