"""Every message in every version is the same bytes here and in kio, an independent implementation (Aiven's, 0.5.0).

What kio cannot express, and therefore is not compared with it: int64 numbers beyond the range of `timedelta` and
`datetime` and error codes that do not exist (all numbers are small here); and coordinator records, which are not sent.
"""

from __future__ import annotations

import datetime
import io
import uuid
from dataclasses import fields, is_dataclass
from typing import Any, get_args

import pytest
from kio.index import load_entity_schema, load_request_schema, load_response_schema
from kio.schema.errors import ErrorCode
from kio.serial import entity_writer
from kio.static.constants import EntityType

from kafkapy.protocol.api_keys import ApiKey
from kafkapy.protocol.consumer_protocol import ConsumerProtocolAssignment, ConsumerProtocolSubscription
from kafkapy.protocol.headers import RequestHeader, ResponseHeader
from kafkapy.protocol.message import Message
from kafkapy.protocol.principal_data import DefaultPrincipalData
from tests.protocol.protocol_samples import populated


def to_kio(value: Any, kio_class: Any, version: int) -> Any:
    """The same struct as one of kio's; fields are matched by their order, since kio gives some of them other names."""
    ours = [field for field in type(value).FIELDS if field.versions.includes(version)]
    theirs = fields(kio_class)
    assert len(ours) == len(theirs), (value, kio_class)
    return kio_class(
        **{
            their.name: kio_value(getattr(value, our.name), their, version)
            for our, their in zip(ours, theirs, strict=True)
        }
    )


def kio_value(value: Any, field: Any, version: int) -> Any:
    """A value as kio wants it: tuples, `timedelta`, `datetime`, `UUID`, `ErrorCode`."""
    if value is None:
        # An absent struct is None here, and a struct of defaults in kio.
        return field.default if is_dataclass(field.default) else None
    if isinstance(value, list):
        return tuple(kio_value(element, field, version) for element in value)
    struct = struct_class(field.type)
    if struct:
        return to_kio(value, struct, version)
    match field.metadata["kafka_type"]:
        case "timedelta_i32" | "timedelta_i64":
            return datetime.timedelta(milliseconds=value)
        case "datetime_i64":
            return None if value == -1 else datetime.datetime.fromtimestamp(value / 1000, datetime.UTC)
        case "error_code":
            return ErrorCode(value)
        case "uuid":
            return None if value == bytes(16) else uuid.UUID(bytes=value)
    return value


def struct_class(type: Any) -> Any:
    """The dataclass in `X`, `X | None`, `tuple[X, ...]`; None if there is none."""
    if is_dataclass(type):
        return type
    return next((found for found in map(struct_class, get_args(type)) if found), None)


def kio_bytes(value: Any, kio_class: Any, version: int) -> bytes:
    buffer = io.BytesIO()
    entity_writer(kio_class)(buffer, to_kio(value, kio_class, version))
    return buffer.getvalue()


@pytest.mark.parametrize("api", ApiKey, ids=lambda api: api.title)
def test_requests_and_responses_of_all_versions(api: ApiKey) -> None:
    for version in range(api.min_version, api.max_version + 1):
        for cls, kio_class in (
            (api.request, load_request_schema(int(api), version)),
            (api.response, load_response_schema(int(api), version)),
        ):
            for message in (
                populated(cls, version, extremes=False),
                populated(cls, version, extremes=False, nulls=True),
                cls(),
            ):
                encoded = message.encode(version)
                assert encoded == kio_bytes(message, kio_class, version), (cls, version, message)
                assert cls.decode(encoded, version) == message


@pytest.mark.parametrize(
    ("cls", "name"),
    [
        (ConsumerProtocolSubscription, "consumer_protocol_subscription"),
        (ConsumerProtocolAssignment, "consumer_protocol_assignment"),
        (DefaultPrincipalData, "default_principal_data"),
    ],
)
def test_data_inside_other_messages(cls: type[Message], name: str) -> None:
    for version in range(cls.VERSIONS.lowest, cls.VERSIONS.highest + 1):
        kio_class = load_entity_schema(name, version, EntityType.data)
        for nulls in (False, True):
            message = populated(cls, version, nulls=nulls)
            encoded = message.encode(version)
            assert encoded == kio_bytes(message, kio_class, version)
            assert cls.decode(encoded, version) == message


@pytest.mark.parametrize(
    ("api", "version", "header_version"),
    [(ApiKey.CONTROLLED_SHUTDOWN, 0, 0), (ApiKey.FETCH, 11, 1), (ApiKey.FETCH, 12, 2), (ApiKey.API_VERSIONS, 3, 2)],
)
def test_request_headers(api: ApiKey, version: int, header_version: int) -> None:
    kio_class = load_entity_schema("request_header", header_version, EntityType.header)
    header = RequestHeader(api, version, 7, "" if header_version == 0 else "é-client")
    encoded = header.encode()
    assert encoded == kio_bytes(header, kio_class, header_version)
    assert RequestHeader.decode(encoded) == (header, len(encoded))


@pytest.mark.parametrize(
    ("api", "version", "header_version"), [(ApiKey.FETCH, 11, 0), (ApiKey.FETCH, 12, 1), (ApiKey.API_VERSIONS, 3, 0)]
)
def test_response_headers(api: ApiKey, version: int, header_version: int) -> None:
    kio_class = load_entity_schema("response_header", header_version, EntityType.header)
    header = ResponseHeader(7)
    encoded = header.encode(api, version)
    assert encoded == kio_bytes(header, kio_class, header_version)
    assert ResponseHeader.decode(encoded, api, version) == (header, len(encoded))
