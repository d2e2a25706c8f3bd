"""Made-up cells of a listing and rows of a read log."""

from __future__ import annotations

from datetime import date, timedelta

from finops.frames.storage import GIB, ReadsCell, StorageCell

ON = date(2026, 11, 30)


def cell(
    storage_class: str = "STANDARD",
    *,
    objects: int = 1000,
    each: int = GIB,
    size: tuple[int, int | None] = (GIB, 5 * GIB),
    age: tuple[int | None, int | None] = (180, 365),
    idle: tuple[int | None, int | None] = (180, 365),
    state: str = "current",
    prefix: str = "data/",
    bucket: str = "lake",
) -> StorageCell:
    """`objects` of `each` bytes in us-east-1."""
    return StorageCell(
        "aws", "us-east-1", "111122223333", bucket, prefix, storage_class, "", state, *size, *age, *idle,
        objects, objects * each,
    )  # fmt: skip


def reads(
    days: int, each_day: int, *, exposure: int, idle: tuple[int, int | None] = (180, 365), every: int = 1
) -> list[ReadsCell]:
    """`each_day` reads on every `every`th of `days` days before `ON`, of `exposure` objects a day."""
    return [
        ReadsCell(
            "lake", "data/", ON - timedelta(days=back), *idle, 180, 365,
            each_day if back % every == 0 else 0, each_day if back % every == 0 else 0, None, exposure,
        )
        for back in range(1, days + 1)
    ]  # fmt: skip
