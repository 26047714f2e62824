"""The store that the configs of a connector name: S3, Google's, Azure's, HDFS, or any of fsspec's."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any, Final, NamedTuple

from kafkapy.common.config_def import ConfigException, Importance
from kafkapy.common.config_validators import NonEmptyString, OneOf
from kafkapy.common.wire_enums import ConfigType
from kafkapy.connect.config import ConfigDef

OPTIONS_PREFIX: Final = "store.options."


class Location(NamedTuple):
    """Where a store is.

    Attributes:
        url: Of fsspec.
        options: For the class of fsspec.
    """

    url: str
    options: dict[str, Any]


class LocationConfigs(NamedTuple):
    """The configs of one kind of store.

    Attributes:
        define: Adds their definitions.
        location: Returns the location from parsed configs, and those that begin with `store.options.`.
    """

    define: Callable[[ConfigDef], None]
    location: Callable[[Mapping[str, Any]], Location]


def store_options(config: Mapping[str, str]) -> dict[str, Any]:
    """Return the options of the configs `store.options.NAME`: JSON where it is JSON, else text.

    Args:
        config: The connector's, as it is.

    Example:
        >>> store_options({"store.options.anon": "true", "store.options.key": "a"})
        {'anon': True, 'key': 'a'}
    """
    options: dict[str, Any] = {}
    for name, text in config.items():
        if name.startswith(OPTIONS_PREFIX):
            try:
                options[name.removeprefix(OPTIONS_PREFIX)] = json.loads(text)
            except ValueError:
                options[name.removeprefix(OPTIONS_PREFIX)] = text
    return options


def _define_url(definitions: ConfigDef) -> None:
    doc = "Folder, such as s3://bucket/prefix, gs://bucket, abfs://container, hdfs://host:8020/path or file:///data."
    definitions.define("store.url", importance=Importance.HIGH, validator=NonEmptyString(), doc=doc)


def _define_s3(definitions: ConfigDef) -> None:
    definitions.define("s3.bucket.name", validator=NonEmptyString(), importance=Importance.HIGH, doc="The bucket.")
    definitions.define("s3.region", ConfigType.STRING, "us-west-2", doc="The region.")
    definitions.define("store.url", ConfigType.STRING, None, doc="Address of a service other than AWS.")
    definitions.define("aws.access.key.id", ConfigType.STRING, "", doc="Default: as the AWS tools find it.")
    definitions.define("aws.secret.access.key", ConfigType.PASSWORD, "", doc="Default: as the AWS tools find it.")
    doc = "Encryption by the service: AES256 or aws:kms. Default: the bucket's."
    definitions.define("s3.ssea.name", ConfigType.STRING, "", validator=OneOf("", "AES256", "aws:kms"), doc=doc)
    definitions.define("s3.sse.kms.key.id", ConfigType.STRING, "", doc="Key for aws:kms.")
    definitions.define("s3.acl.canned", ConfigType.STRING, None, doc="Canned ACL of the objects.")
    definitions.define(
        "s3.path.style.access.enabled", ConfigType.BOOLEAN, True, doc="Whether the bucket is in the path."
    )


def _s3(config: Mapping[str, Any]) -> Location:
    extra: dict[str, Any] = {}
    if config["s3.ssea.name"]:
        extra["ServerSideEncryption"] = config["s3.ssea.name"]
        if config["s3.sse.kms.key.id"]:
            extra["SSEKMSKeyId"] = config["s3.sse.kms.key.id"]
    if config["s3.acl.canned"]:
        extra["ACL"] = config["s3.acl.canned"]
    style = "path" if config["s3.path.style.access.enabled"] else "virtual"
    options: dict[str, Any] = {
        "key": config["aws.access.key.id"] or None,
        "secret": config["aws.secret.access.key"].value or None,
        "s3_additional_kwargs": extra,
        "client_kwargs": {"region_name": config["s3.region"]},
        "config_kwargs": {"s3": {"addressing_style": style}},
    }
    if config["store.url"]:
        options["endpoint_url"] = config["store.url"]
    return Location(f"s3://{config['s3.bucket.name']}", options)


def _define_gcs(definitions: ConfigDef) -> None:
    definitions.define("gcs.bucket.name", validator=NonEmptyString(), importance=Importance.HIGH, doc="The bucket.")
    definitions.define("gcs.credentials.path", ConfigType.STRING, "", doc="File of a service account.")
    definitions.define("gcs.credentials.json", ConfigType.PASSWORD, "", doc="Contents of such a file.")


def _gcs(config: Mapping[str, Any]) -> Location:
    token: Any = config["gcs.credentials.path"] or None
    if text := config["gcs.credentials.json"].value:
        try:
            token = json.loads(text)
        except ValueError:
            raise ConfigException.invalid("gcs.credentials.json", "[hidden]", "Expected JSON.") from None
    return Location(f"gs://{config['gcs.bucket.name']}", {"token": token})


def _define_azure(definitions: ConfigDef) -> None:
    definitions.define(
        "azblob.account.name", validator=NonEmptyString(), importance=Importance.HIGH, doc="The account."
    )
    definitions.define("azblob.account.key", ConfigType.PASSWORD, "", doc="Its key.")
    definitions.define("azblob.sas.token", ConfigType.PASSWORD, "", doc="A token in place of the key.")
    definitions.define("azblob.container.name", ConfigType.STRING, "default", doc="The container.")


def _azure(config: Mapping[str, Any]) -> Location:
    options = {
        "account_name": config["azblob.account.name"],
        "account_key": config["azblob.account.key"].value or None,
        "sas_token": config["azblob.sas.token"].value or None,
    }
    return Location(f"abfs://{config['azblob.container.name']}", options)


def _define_hdfs(definitions: ConfigDef) -> None:
    doc = "Such as hdfs://host:8020."
    definitions.define("hdfs.url", validator=NonEmptyString(), importance=Importance.HIGH, doc=doc)


ANY: Final = LocationConfigs(_define_url, lambda config: Location(config["store.url"], {}))
S3: Final = LocationConfigs(_define_s3, _s3)
GCS: Final = LocationConfigs(_define_gcs, _gcs)
AZURE: Final = LocationConfigs(_define_azure, _azure)
HDFS: Final = LocationConfigs(_define_hdfs, lambda config: Location(config["hdfs.url"], {}))
