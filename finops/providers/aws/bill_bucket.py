"""Deliveries of bills in an S3 bucket: found by their manifests, fetched object by object.

Layouts (AWS Data Exports user guide, "Understanding your report versions", "Understanding export delivery"):
- Cost and Usage Report: `prefix/report/20261101-20261201/report-Manifest.json`; its `reportKeys` lie in an
  assembly folder below (new versions kept), beside it, or below `report/year=…/month=…` (Parquet). Assembly
  folders hold copies of the manifest: the one on top is the newest.
- Data Exports (CUR 2.0, FOCUS): `prefix/export/metadata/BILLING_PERIOD=2026-11/export-Manifest.json`; its
  `dataFiles` lie below `data/BILLING_PERIOD=2026-11/`. Where versions are kept, folders named by time and
  execution hold a manifest each.

Quirks: objects are replaced in place, so every read names the ETag that was listed (If-Match); an ETag is the
MD5 only of an object uploaded in one piece and not encrypted with KMS; a manifest is written last, yet names
that are not there (yet) do occur. Nothing is ever written to the bucket.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, date, datetime
from functools import partial
from typing import Any

import boto3
import orjson
from botocore.exceptions import ClientError
from tenacity.wait import wait_base

from finops.providers.aws.client import BACK_OFF, patiently
from finops.providers.aws.errors import DENIED, DeniedError, error_code, translated
from finops.providers.aws.session import Access, client, open_session
from finops.providers.base import PermanentError, TransientError

PAGE_OBJECTS = 1000
CHUNK_BYTES = 1 << 20
MAX_FOLDERS = 5_000
MANIFEST_MAX_BYTES = 16 * 2**20
LIST_BUCKET = "s3:ListBucket"
GET_OBJECT = "s3:GetObject"
DECRYPT = "kms:Decrypt"

BUCKET = re.compile(r"(?!.*\.\.)(?!xn--)(?!.*-s3alias$)[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]")
# S3 allows more; a `*` would widen the role's policy, quotes and `$` would end texts made for the customer.
PREFIX = re.compile(r"[A-Za-z0-9!_.()/=+-]{0,256}")
_PERIOD_FOLDER = re.compile(r"(?i)^BILLING_PERIOD=(\d{4})-(\d{2})$")
_DATES_FOLDER = re.compile(r"^(\d{4})(\d{2})\d{2}-\d{8}$")


class ChangedError(TransientError):
    """An object is not, or no longer, what was listed: the delivery is being replaced."""


@dataclass(frozen=True)
class BillPlace:
    """Where a payer's exports are delivered. `prefix` has no slash at its ends. Raises PermanentError."""

    bucket: str
    prefix: str
    region: str

    def __post_init__(self) -> None:
        if not BUCKET.fullmatch(self.bucket):
            raise PermanentError(f"{self.bucket!r} is not the name of a bucket.")
        if not PREFIX.fullmatch(self.prefix) or self.prefix != self.prefix.strip("/"):
            raise PermanentError(f"{self.prefix!r} is not a prefix.")

    def __str__(self) -> str:
        return f"s3://{self.bucket}/{self.prefix}".rstrip("/")


@dataclass(frozen=True, slots=True)
class BillObject:
    """An object as it was listed."""

    key: str
    etag: str
    size: int
    modified: datetime


@dataclass(frozen=True, slots=True)
class FoundDelivery:
    """The newest delivery of one period of one export. `report` is the folder of the export."""

    report: str
    period: date
    manifest: BillObject


@dataclass(frozen=True)
class Body:
    """What is read of an object; `etag_is_md5` where an ETag of 32 hex digits is the MD5 of the whole."""

    chunks: Iterator[bytes]
    etag_is_md5: bool


class BillBucket:
    """One place, read with one session. Errors of every method: TransientError, PermanentError (DeniedError
    with the missing permission).
    """

    def __init__(self, s3: Any, place: BillPlace, *, back_off: wait_base = BACK_OFF) -> None:
        self._s3, self.place, self._back_off = s3, place, back_off

    @classmethod
    def open(
        cls,
        access: Access,
        place: BillPlace,
        *,
        base: boto3.Session | None = None,
        back_off: wait_base = BACK_OFF,
    ) -> BillBucket:
        """With the environment's credentials, or the role of `access`."""
        session = open_session(access, region=place.region, base=base)
        return cls(client(session, access, "s3", region=place.region), place, back_off=back_off)

    def deliveries(self) -> list[FoundDelivery]:
        """The newest delivery of each export and period, newest period first; [] when there is none yet."""
        newest: dict[tuple[str, date], FoundDelivery] = {}
        for found in self._manifests():
            at = (found.report, found.period)
            if at not in newest or _age(newest[at]) < _age(found):
                newest[at] = found
        return sorted(newest.values(), key=lambda d: (d.period, d.report), reverse=True)

    def objects(self, delivery: FoundDelivery) -> list[BillObject]:
        """The data files that the manifest names, as they lie in the bucket now.

        Raises ChangedError where one is not there.
        """
        keys = self._named(delivery)
        listed: dict[str, BillObject] = {}
        for folder in sorted({key.rpartition("/")[0] for key in keys}):
            listed |= {item.key: item for item in self._objects(f"{folder}/" if folder else "")}
        missing = [key for key in keys if key not in listed]
        if missing:
            raise ChangedError(
                f"The manifest {delivery.manifest.key} names {missing[0]}, which is not in "
                f"{self.place.bucket} (yet): the delivery is not complete, or old files were removed."
            )
        return [listed[key] for key in keys]

    def read(self, item: BillObject, *, start: int = 0) -> Body:
        """The object from byte `start` on. Raises ChangedError when it was replaced meanwhile."""
        wanted = {
            "Bucket": self.place.bucket,
            "Key": item.key,
            "IfMatch": f'"{item.etag}"',
            **({"Range": f"bytes={start}-"} if start else {}),
        }
        answer = self._ask(
            partial(self._s3.get_object, **wanted),
            f"reading {item.key}",
            needing=f"{GET_OBJECT} on {self._objects_arn()}",
        )
        # "aws:kms" and "aws:kms:dsse": their ETags look like an MD5 and are none.
        return Body(_chunks(answer["Body"], item.key), "kms" not in answer.get("ServerSideEncryption", ""))

    def manifest(self, delivery: FoundDelivery) -> bytes:
        """The manifest as it lies there. Raises PermanentError when it is too large to be one."""
        if delivery.manifest.size > MANIFEST_MAX_BYTES:
            raise PermanentError(f"{delivery.manifest.key} is too large for a manifest.")
        return b"".join(self.read(delivery.manifest).chunks)

    def _named(self, delivery: FoundDelivery) -> list[str]:
        key = delivery.manifest.key
        try:
            document = orjson.loads(self.manifest(delivery))
        except orjson.JSONDecodeError as error:
            raise PermanentError(f"The manifest {key} is no JSON document: {error}.") from error
        names = (
            document.get("reportKeys") or document.get("dataFiles") if isinstance(document, dict) else None
        )
        if not isinstance(names, list) or not names or not all(isinstance(n, str) and n for n in names):
            raise PermanentError(f"The manifest {key} names no data files (reportKeys, dataFiles).")
        return list(dict.fromkeys(self._key(name, key) for name in names))

    def _key(self, name: str, manifest: str) -> str:
        """A name of a manifest as a key of this bucket and prefix: nothing else is fetched for it."""
        key = name
        if name.startswith("s3://"):
            bucket, _, key = name.removeprefix("s3://").partition("/")
            if bucket != self.place.bucket:
                raise PermanentError(f"The manifest {manifest} names a file of another bucket: {bucket}.")
        key = key.removeprefix("/")
        inside = not self.place.prefix or key.startswith(f"{self.place.prefix}/")
        if not inside or any(part in {"", ".", ".."} for part in key.split("/")):
            raise PermanentError(f"The manifest {manifest} names a file outside {self.place}: {name}.")
        return key

    def _manifests(self) -> Iterator[FoundDelivery]:
        """Walks folders: not below one that has a manifest, nor into `data` beside `metadata`."""
        waiting = [f"{self.place.prefix}/" if self.place.prefix else ""]
        for _ in range(MAX_FOLDERS):
            if not waiting:
                return
            folder = waiting.pop()
            items, folders = self._level(folder)
            found = [item for item in items if item.key.endswith("-Manifest.json")]
            dated = [d for item in found if (d := _delivery(item)) is not None]
            yield from dated
            if not dated:
                names = {name.rstrip("/").rpartition("/")[2] for name in folders}
                skipped = {"data"} if "metadata" in names else set()
                waiting += [f for f in folders if f.rstrip("/").rpartition("/")[2] not in skipped]
        raise PermanentError(
            f"More than {MAX_FOLDERS} folders below {self.place}: name the prefix of the exports."
        )

    def _level(self, folder: str) -> tuple[list[BillObject], list[str]]:
        """(objects, folders) directly below a folder."""
        items: list[BillObject] = []
        folders: list[str] = []
        for page in self._pages(Prefix=folder, Delimiter="/"):
            items += map(listed_object, page.get("Contents", []))
            folders += [str(found["Prefix"]) for found in page.get("CommonPrefixes", [])]
        return items, folders

    def _objects(self, folder: str) -> Iterator[BillObject]:
        for page in self._pages(Prefix=folder, Delimiter="/"):
            yield from map(listed_object, page.get("Contents", []))

    def _pages(self, **wanted: Any) -> Iterator[Mapping[str, Any]]:
        token = ""
        while True:
            answer = self._ask(
                partial(
                    self._s3.list_objects_v2,
                    Bucket=self.place.bucket,
                    MaxKeys=PAGE_OBJECTS,
                    **wanted,
                    **({"ContinuationToken": token} if token else {}),
                ),
                f"listing s3://{self.place.bucket}/{wanted['Prefix']}",
                needing=f"{LIST_BUCKET} on arn:aws:s3:::{self.place.bucket}",
            )
            yield answer
            token = answer.get("NextContinuationToken") or ""
            if not answer.get("IsTruncated") or not token:
                return

    def _objects_arn(self) -> str:
        return f"arn:aws:s3:::{self.place.bucket}/{self.place.prefix}".rstrip("/") + "/*"

    def _ask(self, call: Callable[[], Any], doing: str, *, needing: str) -> Any:
        def told() -> Any:
            try:
                return call()
            except ClientError as error:
                raise self._in_our_words(error, doing, needing) from error

        return patiently(told, doing=doing, back_off=self._back_off)

    def _in_our_words(self, error: ClientError, doing: str, needing: str) -> Exception:
        """What S3 says with the way out; anything of no meaning of its own here stays as it is."""
        code = error_code(error)
        said = str(error.response.get("Error", {}).get("Message", "")).rstrip(". ")
        if code in DENIED or code == "403":
            need = DECRYPT + " on the key of the bucket" if "kms" in said.casefold() else needing
            return DeniedError(
                f"AWS does not allow this while {doing}: the role needs {need}. AWS says {code}: {said}."
            )
        if code == "NoSuchBucket":
            return PermanentError(
                f"There is no bucket {self.place.bucket}. Check its name, and that the export writes to it."
            )
        if code in {"PreconditionFailed", "412"}:
            return ChangedError(f"The object was replaced while {doing}: a newer delivery is being written.")
        if code in {"NoSuchKey", "404"}:
            return ChangedError(f"The object is gone while {doing}: the delivery is being replaced.")
        return error


def listed_object(found: Mapping[str, Any]) -> BillObject:
    """An entry of a listing."""
    return BillObject(
        str(found["Key"]),
        str(found["ETag"]).strip('"'),
        int(found["Size"]),
        found["LastModified"].astimezone(UTC),
    )


def _chunks(body: Any, key: str) -> Iterator[bytes]:
    with translated(f"reading {key}"):
        yield from body.iter_chunks(CHUNK_BYTES)


def _age(delivery: FoundDelivery) -> tuple[datetime, str]:
    return delivery.manifest.modified, delivery.manifest.key


def _delivery(item: BillObject) -> FoundDelivery | None:
    """The delivery of a manifest; None for a file of that name that lies in no folder of a period."""
    parts = item.key.split("/")[:-1]
    for depth in range(len(parts) - 1, -1, -1):
        found = _PERIOD_FOLDER.match(parts[depth]) or _DATES_FOLDER.match(parts[depth])
        if found:
            report = parts[:depth]
            if report and report[-1] == "metadata":
                report = report[:-1]
            try:
                period = date(int(found[1]), int(found[2]), 1)
            except ValueError:
                return None
            return FoundDelivery("/".join(report), period, item)
    return None
