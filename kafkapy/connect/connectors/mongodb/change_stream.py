"""Events of a change stream, with the place where it continues."""

from __future__ import annotations

import contextlib
import logging
import time
from collections.abc import Callable, Mapping
from typing import Any, Final

from kafkapy.connect.connectors.mongodb.connection import passes, refusal
from kafkapy.connect.connectors.mongodb.source_config import SourceSettings

log = logging.getLogger("kafkapy.connect.connectors.mongodb")

Document = dict[str, Any]
_GATHER_S: Final = 0.1
"""How long more events are awaited after the first of a batch."""
_LONGEST_WAIT_S: Final = 1.0
"""How long one call waits, so that a task which is stopped ends soon."""
_LOST: Final = frozenset({260, 280, 286, 10334})
"""Codes of places that the server has no more."""


def codec_options() -> Any:
    """Return how documents are read: times with their zone, also those that Python's type lacks."""
    from bson.codec_options import CodecOptions, DatetimeConversion

    return CodecOptions(tz_aware=True, datetime_conversion=DatetimeConversion.DATETIME_AUTO)


class ChangeEvents:
    """Reads events, one batch at a time.

    Invariant: `token` is the place after the events that were returned, None before the stream is open for the first time;
    a stream that breaks is opened again there.

    Args:
        client: Of pymongo.
        settings: Of the connector.
        token: Where to begin. None: as `settings.start_at`, else now.
        clock: Returns seconds. Default: `time.monotonic`.
    """

    def __init__(
        self,
        client: Any,
        settings: SourceSettings,
        token: Mapping[str, Any] | None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._client, self._settings, self._clock = client, settings, clock
        self.token = token
        self._stream: Any = None

    def close(self) -> None:
        """Close the stream; `read` opens it again."""
        from pymongo.errors import PyMongoError

        stream, self._stream = self._stream, None
        if stream is not None:
            with contextlib.suppress(PyMongoError):
                stream.close()

    def open(self) -> None:
        """Open the stream, so that `token` is known.

        Raises:
            PyMongoError: It may pass.
            ConnectException: The place is lost, or there are no change streams.
        """
        from pymongo.errors import PyMongoError

        if self._stream is not None:
            return
        try:
            self._stream = self._opened(self.token)
        except PyMongoError as error:
            self._failed(error)
            self._stream = self._opened(None)
        self._note_token()

    def read(self) -> list[Document]:
        """Return the next events; none after `poll.await.time.ms`, or a second.

        Raises:
            PyMongoError: It may pass; the next call continues.
            ConnectException: Events are lost, or the request is refused.
        """
        from pymongo.errors import PyMongoError

        known = self._settings.known
        events: list[Document] = []
        try:
            self.open()
            limit = self._clock() + min(known["poll.await.time.ms"] / 1000, _LONGEST_WAIT_S)
            while len(events) < known["poll.max.batch.size"]:
                event = self._stream.try_next()
                if event is not None:
                    if not events:
                        limit = min(limit, self._clock() + _GATHER_S)
                    events.append(event)
                elif events or not self._stream.alive:
                    break
                if self._clock() >= limit:
                    break
        except PyMongoError as error:
            self.close()
            if not events:
                self._failed(error)
        if events:
            self.token = events[-1]["_id"]
        elif self._stream is not None:
            self._note_token()
        if self._stream is not None and not self._stream.alive:  # an event has invalidated it
            self.close()
        return events

    def _note_token(self) -> None:
        if self._stream.resume_token is not None:
            self.token = self._stream.resume_token

    def _failed(self, error: Exception) -> None:
        """Decide what an error of the stream means; returns if it is to be opened now, without a place."""
        if self.token is not None and _is_lost(error):
            if self._settings.tolerates:
                log.warning("The change stream begins again, events are lost (errors.tolerance=all): %s", error)
                self.token = None
                return
            raise refusal(
                "The place in the change stream is lost: delete the connector's offsets, choose another "
                "offset.partition.name, or set mongo.errors.tolerance=all to go on without the lost events",
                error,
            ) from error
        if passes(error):
            raise error
        raise refusal("The change stream cannot be read", error) from error

    def _opened(self, token: Mapping[str, Any] | None) -> Any:
        from bson.timestamp import Timestamp

        settings, known = self._settings, self._settings.known
        options: dict[str, Any] = {
            "max_await_time_ms": max(1, min(known["poll.await.time.ms"], int(_GATHER_S * 1000))),
            "batch_size": known["batch.size"] or None,
            "collation": settings.collation,
            "full_document": _given(known["change.stream.full.document"]),
            "full_document_before_change": _given(known["change.stream.full.document.before.change"]),
            "show_expanded_events": known["change.stream.show.expanded.events"] or None,
        }
        if token is not None:
            options["start_after"] = token
        elif settings.start == "timestamp" and settings.start_at is not None:
            options["start_at_operation_time"] = Timestamp(settings.start_at, 0)
        watched: Any = self._client
        if known["database"]:
            watched = self._client.get_database(known["database"], codec_options=codec_options())
        if known["collection"]:
            watched = watched.get_collection(known["collection"])
        given = {name: value for name, value in options.items() if value is not None}
        return watched.watch(settings.pipeline, **given)


def _given(text: str) -> str | None:
    return text if text and text != "default" else None


def _is_lost(error: Exception) -> bool:
    from pymongo.errors import OperationFailure

    if not isinstance(error, OperationFailure):
        return False
    text = str(error).lower()
    names_place = "resume token" in text or "resume point" in text
    gone = ("not found", "does not exist", "invalid resume token", "no longer be in the oplog")
    return error.code in _LOST or (names_place and any(each in text for each in gone))
