"""CloudTrail data events of S3: GetObject, with the bytes sent where the event tells them.

Source: "CloudTrail record contents" and the log examples of the Amazon S3 User Guide, read 2026-11. A file is
one JSON document {"Records": [...]}, packed with gzip. Management events and those of other services stand
in the same files. An event with an errorCode read nothing; keys are as they are.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any, NamedTuple

import orjson

from finops.providers.storage.kinds import StorageFileError

_READS = ("GetObject", "SelectObjectContent")


class Event(NamedTuple):
    """`wrong`: the field that cannot be used, None for a good one. `row`: 1-based record of the file."""

    row: int
    bucket: str
    key: str
    at: datetime | None
    sent: int | None
    is_read: bool
    wrong: str | None


def is_trail(document: Any) -> bool:
    """Whether a JSON document holds CloudTrail records."""
    if not isinstance(document, dict) or not isinstance(document.get("Records"), list):
        return False
    records = document["Records"]
    return not records or (isinstance(records[0], dict) and "eventSource" in records[0])


def events_of(data: bytes) -> Iterator[Event]:
    """The events of S3 in a file; those of other services are left out. Raises StorageFileError."""
    try:
        document = orjson.loads(data)
    except orjson.JSONDecodeError as error:
        raise StorageFileError(f"cut short or no JSON: {error}") from error
    if not is_trail(document):
        raise StorageFileError("no CloudTrail file: it has no list Records of events", field="Records")
    for row, record in enumerate(document["Records"], start=1):
        if not isinstance(record, dict):
            yield Event(row, "", "", None, None, False, "Records")
        elif record.get("eventSource") == "s3.amazonaws.com":
            yield _event(row, record)


def _event(row: int, record: dict[str, Any]) -> Event:
    asked = record.get("requestParameters") or {}
    bucket, key = (asked.get(name) if isinstance(asked, dict) else None for name in ("bucketName", "key"))
    moment = _moment(record.get("eventTime"))
    more = record.get("additionalEventData") or {}
    sent = more.get("bytesTransferredOut") if isinstance(more, dict) else None
    name = record.get("eventName")
    is_read = name in _READS and not record.get("errorCode")
    wrong = None
    if moment is None:
        wrong = "eventTime"
    elif is_read and not (isinstance(bucket, str) and bucket):
        wrong = "requestParameters.bucketName"
    elif is_read and not (isinstance(key, str) and key):
        wrong = "requestParameters.key"
    elif sent is not None and not _is_count(sent):
        wrong = "additionalEventData.bytesTransferredOut"
    return Event(
        row,
        bucket if isinstance(bucket, str) else "",
        key if isinstance(key, str) else "",
        moment,
        int(sent) if sent is not None and _is_count(sent) else None,
        is_read,
        wrong,
    )


def _is_count(value: Any) -> bool:
    """CloudTrail writes the bytes as 512 and as 512.0."""
    return (
        isinstance(value, int | float) and not isinstance(value, bool) and value >= 0 and value == int(value)
    )


def _moment(told: Any) -> datetime | None:
    try:
        moment = datetime.fromisoformat(told)
    except (TypeError, ValueError):
        return None
    return moment.astimezone(UTC) if moment.tzinfo else None
