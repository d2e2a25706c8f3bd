"""S3 server access logs: which objects were read on which day.

Source: "Amazon S3 server access log format", Amazon S3 User Guide, read 2026-11. Quirks:
- One request a line: owner, bucket, [time], address, requester, request id, operation, key, "request-URI",
  status, error, bytes sent, …; fields at the end are added over the years and not looked at.
- Any field may be `-`; bytes sent are `-` for none. Keys are URL encoded, often twice.
- A read is a GET of an object, also one that copies it, that was answered with 2xx. A HEAD costs a request
  and restarts no tier. Requests of other kinds tell that the log covers their day.
- Delivery is best effort: a request may be missing or late by hours.
"""

from __future__ import annotations

import re

from finops.providers.storage.sql import key_id, prefix_of

_LINE = (
    r"^(\S+) (\S+) \[([^\]]+)\] (\S+) (\S+) (\S+) (\S+) (\S+) "
    r'("[^"]*"|-) ([0-9]{3}|-) (\S+) ([0-9]{1,18}|-)(?: .*)?$'
)
_FIELDS = (
    "owner", "bucket", "at", "address", "requester", "id", "operation", "key", "uri", "status", "error",
    "sent",
)  # fmt: skip
_READS = r"^(REST|WEBSITE)\.GET\.OBJECT$|^REST\.COPY\.(OBJECT|PART)_GET$|^SOAP\.GetObject$"
_TIME = "%d/%b/%Y:%H:%M:%S %z"
_PATTERN = re.compile(_LINE)


def is_access_log(line: str) -> bool:
    """Whether a line is one of a server access log."""
    return _PATTERN.match(line) is not None


def reads_sql(relation: str) -> str:
    """SELECT of the requests in a relation of (rn, line): rn, bucket_name, key_id, prefix, day, requests,
    bytes, is_read, wrong. Blank lines are left out.
    """
    fields = ", ".join(f"'{field}'" for field in _FIELDS)
    pattern = _LINE.replace("'", "''")
    at = f"try_strptime(f.at, '{_TIME}')"
    return (
        f"SELECT rn, f.bucket AS bucket_name, {key_id('f.key')} AS key_id, {prefix_of('f.key')} AS prefix, "
        f"CAST(timezone('UTC', {at}) AS DATE) AS day, 1 AS requests, "
        "CASE WHEN f.sent = '-' THEN 0 ELSE try_cast(f.sent AS BIGINT) END AS bytes, "
        f"regexp_matches(f.operation, '{_READS}') AND f.status LIKE '2%' AND f.key != '-' AS is_read, "
        f"CASE WHEN f.bucket = '' THEN 'line' WHEN {at} IS NULL THEN 'time' END AS wrong "
        f"FROM (SELECT rn, regexp_extract(line, '{pattern}', [{fields}]) AS f FROM {relation} "
        "WHERE line IS NOT NULL AND trim(line) != '')"
    )
