"""Documents that are there when a connector starts, as events (`startup.mode=copy_existing`)."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from itertools import islice
from typing import Any, Final

from kafkapy.connect.connectors.mongodb.change_stream import Document, codec_options
from kafkapy.connect.connectors.mongodb.source_config import SourceSettings

_NO_DATABASES: Final = ("admin", "config", "local")


class ExistingDocuments:
    """Reads the documents of all collections, ordered by collection and id.

    Invariant: after an error it continues after the last document that was returned.

    Args:
        client: Of pymongo.
        settings: Of the connector.
        after: Namespace and id of a document: those after it are read. Default: all.
    """

    def __init__(self, client: Any, settings: SourceSettings, after: tuple[str, Any] | None = None) -> None:
        self._client, self._settings, self._after = client, settings, after
        self._rows: Iterator[tuple[str, Document]] | None = None

    def read(self, most: int) -> tuple[list[tuple[str, Document]], bool]:
        """Return the next documents as events, with their namespaces, and whether they are the last.

        Args:
            most: How many.

        Raises:
            PyMongoError: The next call continues.
        """
        from pymongo.errors import PyMongoError

        if self._rows is None:
            self._rows = self._all()
        found: list[tuple[str, Document]] = []
        is_last = False
        try:
            found.extend(islice(self._rows, most))
            is_last = len(found) < most
        except PyMongoError:
            self._rows = None
            if not found:
                raise
        if found:
            namespace, event = found[-1]
            self._after = namespace, event["_id"]["_id"]
        return found, is_last

    def _all(self) -> Iterator[tuple[str, Document]]:
        for database, collection in self._collections():
            namespace = f"{database}.{collection}"
            if self._after is not None and namespace < self._after[0]:
                continue
            after = self._after[1:] if self._after is not None and namespace == self._after[0] else ()
            rows = self._client.get_database(database, codec_options=codec_options())[collection].aggregate(
                self._stages(database, collection, after),
                allowDiskUse=self._settings.known["startup.mode.copy.existing.allow.disk.use"],
            )
            with rows:
                for event in rows:
                    yield namespace, event

    def _stages(self, database: str, collection: str, after: tuple[Any, ...]) -> list[Mapping[str, Any]]:
        beginning = [{"$match": {"$expr": {"$gt": ["$_id", {"$literal": each}]}}} for each in after]
        event = {
            "_id": {"_id": "$_id", "copyingData": {"$literal": True}},
            "operationType": {"$literal": "insert"},
            "ns": {"$literal": {"db": database, "coll": collection}},
            "documentKey": {"_id": "$_id"},
            "fullDocument": "$$ROOT",
        }
        whole = [{"$replaceRoot": {"newRoot": event}}]
        return [*beginning, {"$sort": {"_id": 1}}, *self._settings.copy_pipeline, *whole, *self._settings.pipeline]

    def _collections(self) -> list[tuple[str, str]]:
        """All collections, ordered by their namespaces."""
        known = self._settings.known
        pattern = re.compile(known["startup.mode.copy.existing.namespace.regex"])
        if known["collection"]:
            found = [(known["database"], known["collection"])]
        else:
            databases = [known["database"]] if known["database"] else self._client.list_database_names()
            found = [
                (database, name)
                for database in databases
                if known["database"] or not database.startswith(_NO_DATABASES)
                for name in self._client[database].list_collection_names()
                if not name.startswith("system.")
            ]
        return sorted((each for each in found if pattern.search(".".join(each))), key=".".join)
