"""Inventories, access logs, trails and reports in an S3 bucket: what is there and what is new.

An inventory's manifests lie in folders named by time (`config/2026-11-29T01-00Z/manifest.json`) beside `data`
and `hive` (S3 User Guide, "Locating your inventory list"); the newest one counts. Everything else is a log
or a report, taken in the order in which it was written. Nothing is ever written to the bucket.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import date, datetime

from finops.providers.aws.bill_bucket import BillBucket, BillObject, ChangedError, listed_object
from finops.providers.aws.storage_inventory import parse_manifest
from finops.providers.base import PermanentError

_MANIFEST = re.compile(r"^(?P<config>.*?)/?(?P<day>\d{4}-\d{2}-\d{2})T\d{2}-\d{2}Z/manifest\.json$")
_DOCUMENT_MOST = 64 << 20


@dataclass(frozen=True, slots=True)
class FoundListing:
    """The newest manifest of one inventory configuration; `config` is its folder."""

    config: str
    day: date
    manifest: BillObject


@dataclass
class FoundFiles:
    """What lies below the prefix: newest listings, and all other files, oldest first."""

    listings: list[FoundListing] = field(default_factory=list)
    others: list[BillObject] = field(default_factory=list)
    by_key: dict[str, BillObject] = field(default_factory=dict)


class StorageBucket(BillBucket):
    """A place of storage files. Errors as those of `BillBucket`."""

    def found(self) -> FoundFiles:
        """Everything below the prefix, by one listing of it."""
        found = FoundFiles()
        newest: dict[str, FoundListing] = {}
        below = f"{self.place.prefix}/" if self.place.prefix else ""
        items = [listed_object(one) for page in self._pages(Prefix=below) for one in page.get("Contents", [])]
        for item in items:
            told = _MANIFEST.match(item.key)
            if told is None:
                continue
            one = FoundListing(told["config"], date.fromisoformat(told["day"]), item)
            other = newest.get(one.config)
            if other is None or _age(other) < _age(one):
                newest[one.config] = one
        found.listings = [newest[config] for config in sorted(newest)]
        for item in items:
            config = next((c for c in newest if item.key.startswith(f"{c}/" if c else "")), None)
            if config is None:
                found.others.append(item)
            else:
                found.by_key[item.key] = item
        found.others.sort(key=lambda item: (item.modified, item.key))
        return found

    def files_of(self, listing: FoundListing, found: FoundFiles) -> list[BillObject]:
        """The data files that the manifest names. Raises ChangedError where one is not there."""
        if listing.manifest.size > _DOCUMENT_MOST:
            raise PermanentError(f"{listing.manifest.key} is too large for a manifest.")
        data = b"".join(self.read(listing.manifest).chunks)
        try:
            manifest = parse_manifest(data)
        except PermanentError as error:
            raise PermanentError(f"{listing.manifest.key}: {error}") from error
        keys = [self._key(entry.key, listing.manifest.key) for entry in manifest.files]
        missing = [key for key in keys if key not in found.by_key]
        if missing:
            raise ChangedError(
                f"The manifest {listing.manifest.key} names {missing[0]}, which is not in "
                f"{self.place.bucket} (yet): the listing is not complete, or old files were removed."
            )
        return [found.by_key[key] for key in keys]


def newer(
    items: Sequence[BillObject], since: datetime | None, known: set[tuple[str, str]], *, most: int
) -> list[BillObject]:
    """Objects written at or after `since` that are not known by key and ETag, oldest first."""
    new = [i for i in items if (since is None or i.modified >= since) and (i.key, i.etag) not in known]
    return new[:most]


def _age(listing: FoundListing) -> tuple[date, datetime, str]:
    return listing.day, listing.manifest.modified, listing.manifest.key
