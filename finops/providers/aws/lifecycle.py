"""Lifecycle rules of a bucket: `GetBucketLifecycleConfiguration` and `PutBucketLifecycleConfiguration`.

Quirks: a put replaces the whole configuration, there is no version or ETag to guard it, so the caller reads,
compares and writes; a bucket without rules answers NoSuchLifecycleConfiguration, and an empty configuration
cannot be put, it is deleted; a put that leaves `TransitionDefaultMinimumObjectSize` out sets it to its
default, so what was read is sent back; changes take some minutes to reach all of the service, a read just
after a write may show the old rules. Rights: s3:GetLifecycleConfiguration, s3:PutLifecycleConfiguration (also
for deleting), s3:ListBucket to tell a bucket that is not there from one that is not ours. Source: the S3 API
reference, read 2026-11.
"""

from __future__ import annotations

import copy
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

from botocore.exceptions import ClientError
from tenacity.wait import wait_base

from finops.providers.aws.client import BACK_OFF, patiently
from finops.providers.aws.errors import error_code, translated
from finops.providers.aws.session import Access, account_id, client, open_session
from finops.providers.base import PermanentError

NO_RULES = "NoSuchLifecycleConfiguration"
SMALLEST = "TransitionDefaultMinimumObjectSize"
# What a configuration has that says nothing of it.
DEFAULT_SMALLEST = "all_storage_classes_128K"
GET, PUT, LIST = "s3:GetLifecycleConfiguration", "s3:PutLifecycleConfiguration", "s3:ListBucket"
# A write is read back so often, with so many seconds between, until it shows.
LOOKS, BETWEEN = 6, 5.0
Configuration = dict[str, Any]


@dataclass(frozen=True)
class BucketRules:
    """The lifecycle rules of one bucket."""

    s3: Any
    bucket: str
    account: str
    back_off: wait_base

    def read(self) -> Configuration:
        """{"Rules", and the smallest size where it is told}; {} for a bucket without rules.

        Raises TransientError or PermanentError.
        """
        doing = f"reading the lifecycle rules of {self.bucket}"
        asked = {"Bucket": self.bucket, "ExpectedBucketOwner": self.account}

        def call() -> Configuration:
            try:
                answer = self.s3.get_bucket_lifecycle_configuration(**asked)
            except ClientError as error:
                if error_code(error) == NO_RULES:
                    return {}
                raise
            return dict(answer)

        answer = patiently(call, doing=doing, back_off=self.back_off)
        if not answer.get("Rules"):
            return {}
        found: Configuration = {"Rules": answer["Rules"]}
        if answer.get(SMALLEST):
            found[SMALLEST] = answer[SMALLEST]
        return found

    def write(self, configuration: Mapping[str, Any]) -> None:
        """Put the whole configuration; without rules the bucket's is deleted. The same again changes nothing.

        Raises TransientError or PermanentError.
        """
        asked: dict[str, Any] = {"Bucket": self.bucket, "ExpectedBucketOwner": self.account}
        if not configuration.get("Rules"):
            call = partial(self.s3.delete_bucket_lifecycle, **asked)
        else:
            rules = [_sent(rule) for rule in configuration["Rules"]]
            asked["LifecycleConfiguration"] = {"Rules": rules}
            if configuration.get(SMALLEST):
                asked[SMALLEST] = configuration[SMALLEST]
            call = partial(self.s3.put_bucket_lifecycle_configuration, **asked)
        patiently(call, doing=f"writing the lifecycle rules of {self.bucket}", back_off=self.back_off)

    def settled(
        self, shown: Callable[[Configuration], bool], *, pause: Callable[[float], None] = time.sleep
    ) -> Configuration:
        """Read until `shown` says that it is there, or the looks are used up; the last answer."""
        found = self.read()
        for _look in range(LOOKS - 1):
            if shown(found):
                break
            pause(BETWEEN)
            found = self.read()
        return found


def open_bucket(
    access: Access, *, bucket: str, region: str, account: str, back_off: wait_base = BACK_OFF
) -> BucketRules:
    """The rules of a bucket of `account`. Raises PermanentError for credentials of another account."""
    session = open_session(access, region=region)
    own = account_id(session, access, region=region)
    if own != account:
        raise PermanentError(
            f"The credentials belong to account {own}, the bucket to {account}: nothing was written."
        )
    with translated(f"opening the bucket {bucket}"):
        s3 = client(session, access, "s3", region=region)
    return BucketRules(s3, bucket, account, back_off)


def lifecycle_policy(buckets: list[str], *, write: bool) -> dict[str, Any]:
    """The IAM policy of a role that reads, and with `write` changes, the lifecycle rules of these buckets."""
    actions = [GET, LIST, *([PUT] if write else [])]
    return {
        "Version": "2012-10-17",
        "Statement": [
            {
                "Sid": "OffpeakLifecycleRules",
                "Effect": "Allow",
                "Action": sorted(actions),
                "Resource": [f"arn:aws:s3:::{name}" for name in sorted(set(buckets))],
            }
        ],
    }


def _sent(rule: Mapping[str, Any]) -> dict[str, Any]:
    """A rule as the call takes it: times that JSON holds as texts stay texts, boto3 reads them."""
    return copy.deepcopy(dict(rule))
