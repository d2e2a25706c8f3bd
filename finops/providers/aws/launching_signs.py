"""What AWS says about running machines: messages of EventBridge through a queue, and markers in S3.

Quirks: SQS hands a message out at least once and hides it for a while, so it is deleted once it is kept;
EventBridge wraps the event in its own envelope, SNS in one more. The notice of an interruption comes two
minutes before; a rebalance recommendation may come with it or never. Source: EC2's user guide, read 2026-11.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

from botocore.exceptions import ClientError

from finops.frames.launches import Notice, NoticeKind
from finops.providers.aws.errors import error_code, translated
from finops.providers.aws.session import Access, client, open_session
from finops.providers.base import PermanentError

WARNING = timedelta(minutes=2)
BATCH = 10
# A turn takes so many batches at most; the rest waits for the next one.
BATCHES = 50
_KINDS = {
    "EC2 Spot Instance Interruption Warning": NoticeKind.INTERRUPTION,
    "EC2 Instance Rebalance Recommendation": NoticeKind.REBALANCE,
}
_GONE = frozenset({"shutting-down", "terminated", "stopping", "stopped"})


def read_notice(text: str) -> Notice | None:
    """The notice in a message's body; None for one about something else. Raises ValueError for no JSON."""
    document = json.loads(text)
    if isinstance(document, dict) and isinstance(document.get("Message"), str):
        document = json.loads(document["Message"])
    if not isinstance(document, dict):
        raise ValueError("not an event")
    detail = document.get("detail")
    if not isinstance(detail, dict) or not isinstance(detail.get("instance-id"), str):
        return None
    kind = _KINDS.get(str(document.get("detail-type")))
    if (
        document.get("detail-type") == "EC2 Instance State-change Notification"
        and detail.get("state") in _GONE
    ):
        kind = NoticeKind.ENDED
    if kind is None:
        return None
    at = datetime.fromisoformat(str(document["time"]).replace("Z", "+00:00"))
    if at.tzinfo is None:
        raise ValueError("a time without its zone")
    return Notice(
        kind,
        detail["instance-id"],
        at.astimezone(UTC) + (WARNING if kind is NoticeKind.INTERRUPTION else timedelta(0)),
    )


def take_notices(
    access: Access, queue: str, *, keep: Callable[[Notice], None], unread: Callable[[str], None]
) -> int:
    """Hand every waiting notice to `keep`, then delete its message; how many messages there were.

    A message that is no event goes to `unread` and is deleted too: it would come again for ever. An error of
    `keep` leaves the message in the queue. Raises as `errors.translated`.
    """
    region = _region(queue)
    sqs = client(open_session(access, region=region), access, "sqs", region=region)
    count = 0
    for _ in range(BATCHES):
        with translated(f"reading notices from {queue}"):
            answer = sqs.receive_message(QueueUrl=queue, MaxNumberOfMessages=BATCH, WaitTimeSeconds=0)
        messages = answer.get("Messages") or []
        for message in messages:
            try:
                notice = read_notice(str(message.get("Body", "")))
            except (ValueError, KeyError, TypeError) as error:
                unread(str(error))
            else:
                if notice is not None:
                    keep(notice)
            with translated(f"deleting a notice from {queue}"):
                sqs.delete_message(QueueUrl=queue, ReceiptHandle=message["ReceiptHandle"])
        count += len(messages)
        if not messages:
            break
    return count


def marker_there(access: Access, location: str, *, region: str) -> bool:
    """Whether the object `s3://bucket/key` is there. Raises as `errors.translated`."""
    bucket, _, key = location.removeprefix("s3://").partition("/")
    if not location.startswith("s3://") or not bucket or not key:
        raise PermanentError(f"No place in S3: {location!r}.")
    s3 = client(open_session(access, region=region), access, "s3", region=region)
    with translated(f"looking for {location}"):
        try:
            s3.head_object(Bucket=bucket, Key=key)
        except ClientError as error:
            if error_code(error) in {"404", "NoSuchKey", "NotFound"}:
                return False
            raise
    return True


def _region(queue: str) -> str:
    """The region in a queue's address, `https://sqs.REGION.amazonaws.com/…`; us-east-1 where it has none."""
    host: Any = queue.partition("://")[2].partition("/")[0].split(".")
    return str(host[1]) if len(host) > 2 and host[0] == "sqs" else "us-east-1"
