"""Files that tell of resources beside the bill: metrics, lists of volumes and snapshots, use of clusters.

What a file is, its columns or keys say:
    resource, metric, at, value                          samples; percentiles are of them (nearest rank)
    resource, metric, start, end, samples, p95, p99 …    summaries
    resource, kind, attached_to | volume | image …       a list of volumes and snapshots
    cluster, namespace, workload, start, end …           use of a cluster
    {"Volumes": …}, {"Snapshots": …}, {"Images": …}      answers of the AWS CLI
    {"data": [{name: allocation}]}                       OpenCost's allocation API; "__idle__" is idle cost
A bad row is rejected and named, the others are kept.
"""

from __future__ import annotations

import csv
import io
import json
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from decimal import Decimal, InvalidOperation
from typing import Any

from finops.frames.clusters import IDLE, SHARED, WORK, Work
from finops.frames.money import currencies
from finops.frames.spot import Rejection
from finops.frames.waste import Listed, Measured
from finops.providers.base import PermanentError

METRICS = (
    "cpu", "memory", "memory_free", "network", "iops", "connections", "credits", "reads", "writes",
)  # fmt: skip
MAX_BYTES = 256 * 2**20
GIB = 2**30
MOST_NAME = 200
MOST_HELD = 12
MOST_LABELS = 100
MOST_SAMPLES = 2**31 - 1  # as many as are kept count
IDLE_NAMES = {"__idle__": IDLE, "__unallocated__": SHARED, "__unmounted__": SHARED}


@dataclass
class Measures:
    """What a file holds; read = kept + rejected. `metrics` by resource; `kind` of the file."""

    kind: str
    read: int = 0
    metrics: list[tuple[str, Measured]] = field(default_factory=list)
    listed: list[Listed] = field(default_factory=list)
    works: list[Work] = field(default_factory=list)
    rejections: list[Rejection] = field(default_factory=list)


class _BadCellError(ValueError):
    def __init__(self, name: str, reason: str) -> None:
        super().__init__(reason)
        self.name = name


def read_measures(content: bytes, *, file: str) -> Measures:
    """The file by its kind. Raises PermanentError for one of no known kind."""
    if len(content) > MAX_BYTES:
        raise PermanentError(f"{file} is larger than {MAX_BYTES} bytes.")
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise PermanentError(f"{file} is not UTF-8.") from error
    if text.lstrip()[:1] in ("{", "["):
        return _json(text, file)
    try:
        reader = csv.DictReader(io.StringIO(text, newline=""))
        heads = {name.strip().casefold() for name in reader.fieldnames or () if name}
        rows = [
            {(name or "").strip().casefold(): (cell or "").strip() for name, cell in row.items() if name}
            for row in reader
        ]
    except csv.Error as error:
        raise PermanentError(f"{file}: line {reader.line_num + 1} is no CSV: {error}.") from error
    for needed, read in (
        ({"resource", "metric", "at", "value"}, _samples),
        ({"resource", "metric", "start", "end", "p95", "p99"}, _summaries),
        ({"cluster", "namespace", "workload", "start", "end"}, _works),
        ({"resource", "kind"}, _resources),
    ):
        if needed <= heads:
            return read(rows, file)
    raise PermanentError(f"{file} has none of the known forms: {', '.join(sorted(heads))[:200]}")


def summary(metric: str, samples: Sequence[tuple[datetime, float]], source: str) -> Measured:
    """Percentiles by nearest rank of samples that are there; the end is the last sample's time.

    >>> from datetime import UTC, datetime
    >>> days = [(datetime(2026, 3, n, tzinfo=UTC), float(n)) for n in range(1, 21)]
    >>> summary("cpu", days, "").p95
    19.0
    """
    times = sorted(at for at, _value in samples)
    values = sorted(value for _at, value in samples)
    return Measured(
        metric, times[0], times[-1], len(values), _rank(values, 0.95), _rank(values, 0.99), values[-1],
        values[0], source,
    )  # fmt: skip


def _rank(values: Sequence[float], share: float) -> float:
    return values[max(0, math.ceil(share * len(values)) - 1)]


def _samples(rows: Sequence[Mapping[str, str]], file: str) -> Measures:
    found = Measures("samples", read=len(rows))
    groups: dict[tuple[str, str], list[tuple[datetime, float]]] = {}
    for number, row in enumerate(rows, start=1):
        try:
            key, sample = (_text(row, "resource"), _metric(row)), (_time(row, "at"), _number(row, "value"))
            groups.setdefault(key, []).append(sample)
        except _BadCellError as error:
            found.rejections.append(Rejection(file, number, error.name, str(error)))
    for (resource, metric), samples in groups.items():
        one = summary(metric, samples, file)
        if one.end > one.start:
            found.metrics.append((resource, one))
        else:
            found.rejections.append(Rejection(file, None, "at", f"{resource} {metric}: only one time"))
    return found


def _summaries(rows: Sequence[Mapping[str, str]], file: str) -> Measures:
    found = Measures("summaries", read=len(rows))
    for number, row in enumerate(rows, start=1):
        try:
            p95, p99 = _number(row, "p95"), _number(row, "p99")
            high = _number(row, "high") if row.get("high") else p99
            low = _number(row, "low") if row.get("low") else 0.0
            samples = int(min(_number(row, "samples"), MOST_SAMPLES)) if row.get("samples") else 1
            start, end = _time(row, "start"), _time(row, "end")
            if not low <= p95 <= p99 <= high:
                raise _BadCellError("p99", "percentiles are not in order: low, p95, p99, high")
            if end <= start or samples < 1:
                raise _BadCellError("end", "the end comes after the start, with samples between")
            one = Measured(_metric(row), start, end, samples, p95, p99, high, low, file)
            found.metrics.append((_text(row, "resource"), one))
        except _BadCellError as error:
            found.rejections.append(Rejection(file, number, error.name, str(error)))
    return found


def _resources(rows: Sequence[Mapping[str, str]], file: str) -> Measures:
    found = Measures("resources", read=len(rows))
    for number, row in enumerate(rows, start=1):
        try:
            kind = _text(row, "kind").casefold()
            if kind not in ("volume", "snapshot"):
                raise _BadCellError("kind", f"volume or snapshot, not {kind[:40]}")
            found.listed.append(
                Listed(
                    _text(row, "resource"), kind, _said(row, "attached_to"), _said(row, "volume"),
                    _time(row, "created_at") if row.get("created_at") else None, _said(row, "image"),
                )
            )  # fmt: skip
        except _BadCellError as error:
            found.rejections.append(Rejection(file, number, error.name, str(error)))
    return found


def _works(rows: Sequence[Mapping[str, str]], file: str) -> Measures:
    found = Measures("clusters", read=len(rows))
    for number, row in enumerate(rows, start=1):
        try:
            start, end = _time(row, "start"), _time(row, "end")
            if end <= start:
                raise _BadCellError("end", "the end comes after the start")
            kind = (row.get("kind") or WORK).casefold()
            if kind not in (WORK, IDLE, SHARED):
                raise _BadCellError("kind", f"work, idle or shared, not {kind[:40]}")
            cost = _money(row, "cost")
            cpu, memory = _money(row, "cpu_cost"), _money(row, "memory_cost")
            currency = _said(row, "currency", 10) or ""
            currency = currency.upper()
            if currency and currency not in currencies():
                raise _BadCellError("currency", f"not a currency: {currency!r}")
            if not currency and any(one is not None for one in (cost, cpu, memory)):
                raise _BadCellError("currency", "a cost needs its currency")
            if cost is None and cpu is not None and memory is not None:
                cost = cpu + memory
            found.works.append(
                Work(
                    _text(row, "cluster", MOST_NAME), _said(row, "namespace", MOST_NAME) or "",
                    _said(row, "workload") or kind, kind, start,
                    end, _maybe(row, "cpu_request"), _maybe(row, "cpu_p99"),
                    _maybe(row, "memory_request_gib"), _maybe(row, "memory_p99_gib"), cpu, memory, cost,
                    currency, labels=_labels(row.get("labels") or ""),
                )
            )  # fmt: skip
        except _BadCellError as error:
            found.rejections.append(Rejection(file, number, error.name, str(error)))
    return found


def _json(text: str, file: str) -> Measures:
    try:
        document = json.loads(text, parse_float=Decimal)
    except (ValueError, RecursionError) as error:
        raise PermanentError(f"{file} is no JSON: {error}") from error
    if isinstance(document, dict):
        if any(name in document for name in ("Volumes", "Snapshots", "Images")):
            return _aws(document, file)
        if isinstance(document.get("data"), list):
            return _opencost(document["data"], file)
    raise PermanentError(f"{file} has none of the known forms: no Volumes, Snapshots, Images or data.")


def _aws(document: Mapping[str, Any], file: str) -> Measures:
    """Answers of describe-volumes, describe-snapshots and describe-images, also merged into one."""
    found = Measures("resources")
    images = {
        str(_object(block.get("Ebs")).get("SnapshotId")): str(image.get("ImageId", ""))
        for image in _objects(found, document, "Images", file)
        for block in _inside(image, "BlockDeviceMappings")
    }
    for number, row in enumerate(_objects(found, document, "Volumes", file), start=1):
        found.read += 1
        # Several, where it is attached to several; what is kept is cut so that none is cut in two.
        held = [str(one["InstanceId"]) for one in _inside(row, "Attachments") if one.get("InstanceId")]
        # A list of its own choice of columns may not say it at all: that is not "attached to nothing".
        said = ",".join(held[:MOST_HELD]) if isinstance(row.get("Attachments"), list) else None
        _keep(found, row, "VolumeId", number, file, kind="volume", attached_to=said)
    for number, row in enumerate(_objects(found, document, "Snapshots", file), start=1):
        found.read += 1
        image = images.get(str(row.get("SnapshotId")), "") if "Images" in document else None
        volume = None if row.get("VolumeId") is None else str(row["VolumeId"])
        _keep(found, row, "SnapshotId", number, file, kind="snapshot", volume=volume, image=image)
    return found


def _object(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, dict) else {}


def _inside(row: Mapping[str, Any], name: str) -> list[Mapping[str, Any]]:
    """The objects of a list inside of a row."""
    held = row.get(name)
    return [one for one in held if isinstance(one, dict)] if isinstance(held, list) else []


def _objects(
    found: Measures, document: Mapping[str, Any], name: str, file: str
) -> Iterator[Mapping[str, Any]]:
    """The objects of a list of the document; whatever else is in it is rejected. Raises PermanentError."""
    rows = document.get(name) or []
    if not isinstance(rows, list):
        raise PermanentError(f"{file}: {name} is no list.")
    for number, row in enumerate(rows, start=1):
        if isinstance(row, dict):
            yield row
        else:
            found.read += 1
            found.rejections.append(Rejection(file, number, name, "no object"))


def _keep(
    found: Measures, row: Mapping[str, Any], name: str, number: int, file: str, *, kind: str, **given: Any
) -> None:
    try:
        resource = _text(row, name)
        for field_name in ("volume", "attached_to"):
            _said(given, field_name)
    except _BadCellError as error:
        found.rejections.append(Rejection(file, number, error.name, str(error)))
        return
    made = str(row.get("CreateTime") or row.get("StartTime") or "")
    try:
        created = _time({"at": made}, "at") if made else None
    except _BadCellError as error:
        found.rejections.append(Rejection(file, number, "CreateTime", str(error)))
        return
    found.listed.append(Listed(resource, kind, created_at=created, **given))


def _opencost(sets: Sequence[Any], file: str) -> Measures:
    """Allocations of OpenCost; sets of one workload that follow each other are added up."""
    found = Measures("clusters")
    merged: dict[tuple[str, str, str, str], Work] = {}
    for one in sets:
        if one is not None and not isinstance(one, dict):
            raise PermanentError(f"{file}: data holds something else than sets of allocations.")
        for name, row in (one or {}).items():
            found.read += 1
            try:
                work = _allocation(str(name), row)
            except (_BadCellError, TypeError, AttributeError) as error:
                field_name = error.name if isinstance(error, _BadCellError) else ""
                found.rejections.append(Rejection(file, found.read, str(field_name), str(error)))
                continue
            key = (work.cluster, work.namespace, work.workload, work.kind)
            merged[key] = work if key not in merged else _added(merged[key], work)
    found.works = list(merged.values())
    return found


def _allocation(name: str, row: Mapping[str, Any]) -> Work:
    about = row.get("properties") or {}
    kind = next((kind for part, kind in IDLE_NAMES.items() if part in name), WORK)
    raw = row.get("rawAllocationOnly") or {}
    controller = about.get("controller") or about.get("pod") or about.get("container") or name
    start, end = _time(row, "start"), _time(row, "end")
    if end <= start:
        raise _BadCellError("end", "the end comes after the start")
    cpu, memory, total = (_money(row, one) for one in ("cpuCost", "ramCost", "totalCost"))
    told = {"cluster": about.get("cluster") or "cluster", "namespace": about.get("namespace"),
            "workload": controller}  # fmt: skip
    return Work(
        _text(told, "cluster", MOST_NAME), _said(told, "namespace", MOST_NAME) or "",
        _text(told, "workload") if kind == WORK else kind, kind, start, end,
        _maybe(row, "cpuCoreRequestAverage"), _maybe(raw, "cpuCoreUsageMax"),
        _gib(_maybe(row, "ramByteRequestAverage")), _gib(_maybe(raw, "ramByteUsageMax")), cpu, memory, total,
        "USD", _maybe(row, "cpuCoreUsageAverage"), _gib(_maybe(row, "ramByteUsageAverage")),
        _object_labels(about.get("labels")),
    )  # fmt: skip


def _labels(text: str) -> dict[str, str]:
    """`team=web;app=shop`. Raises _BadCellError."""
    found: dict[str, str] = {}
    for part in filter(None, (one.strip() for one in text.split(";"))):
        name, equals, value = part.partition("=")
        if not equals or not name.strip():
            raise _BadCellError("labels", f"name=value with semicolons, not {part[:40]}")
        found[name.strip()] = value.strip()
    return _limited(found)


def _object_labels(value: Any) -> dict[str, str]:
    """Labels of OpenCost: an object of texts, or nothing."""
    if value is None:
        return {}
    if not isinstance(value, dict):
        raise _BadCellError("labels", "no object")
    return _limited({str(name): str(held) for name, held in value.items()})


def _limited(found: dict[str, str]) -> dict[str, str]:
    if len(found) > MOST_LABELS or any(
        len(text) > MOST_NAME or "\x00" in text for pair in found.items() for text in pair
    ):
        raise _BadCellError("labels", f"at most {MOST_LABELS} labels of {MOST_NAME} characters")
    return found


def _added(one: Work, other: Work) -> Work:
    """Two spans of a workload: costs add up, requests and highest use are the larger."""

    def larger(name: str) -> float | None:
        values = [v for v in (getattr(one, name), getattr(other, name)) if v is not None]
        return max(values) if len(values) == 2 else None

    def together(name: str) -> Decimal | None:
        first, second = getattr(one, name), getattr(other, name)
        return None if first is None or second is None else first + second

    return replace(
        one,
        start=min(one.start, other.start),
        end=max(one.end, other.end),
        cpu_request=larger("cpu_request"),
        cpu_p99=larger("cpu_p99"),
        memory_request=larger("memory_request"),
        memory_p99=larger("memory_p99"),
        cpu_cost=together("cpu_cost"),
        memory_cost=together("memory_cost"),
        cost=together("cost"),
    )


def _text(row: Mapping[str, Any], name: str, most: int = 300) -> str:
    value = str(row.get(name) or "").strip()
    if not value or len(value) > most or "\x00" in value:
        raise _BadCellError(name, f"1 to {most} characters")
    return value


def _said(row: Mapping[str, Any], name: str, most: int = 300) -> str | None:
    """A text that may be empty; None where nothing is said."""
    value = row.get(name)
    if value is None:
        return None
    if len(str(value)) > most or "\x00" in str(value):
        raise _BadCellError(name, f"at most {most} characters")
    return str(value)


def _metric(row: Mapping[str, Any]) -> str:
    name = _text(row, "metric").casefold()
    if name not in METRICS:
        raise _BadCellError("metric", f"one of {', '.join(METRICS)}, not {name[:40]}")
    return name


def _number(row: Mapping[str, Any], name: str) -> float:
    try:
        value = float(row.get(name) or "")
    except (TypeError, ValueError) as error:
        raise _BadCellError(name, f"no number: {str(row.get(name))[:40]}") from error
    if not math.isfinite(value) or value < 0:
        raise _BadCellError(name, f"a number from 0 on, not {str(row.get(name))[:40]}")
    return value


def _maybe(row: Mapping[str, Any], name: str) -> float | None:
    return None if row.get(name) in (None, "") else _number({name: str(row[name])}, name)


def _gib(value: float | None) -> float | None:
    return None if value is None else value / GIB


def _money(row: Mapping[str, Any], name: str) -> Decimal | None:
    if row.get(name) in (None, ""):
        return None
    try:
        value = Decimal(str(row[name]))
    except InvalidOperation as error:
        raise _BadCellError(name, f"no amount: {str(row[name])[:40]}") from error
    if not value.is_finite() or abs(value) >= Decimal(10) ** 18:
        raise _BadCellError(name, f"no amount: {str(row[name])[:40]}")
    return value


def _time(row: Mapping[str, Any], name: str) -> datetime:
    text = str(row.get(name) or "").strip().replace("Z", "+00:00")
    try:
        value = datetime.fromisoformat(text)
    except ValueError as error:
        raise _BadCellError(name, f"no time like 2026-03-01T00:00:00Z: {text[:40]}") from error
    if value.tzinfo is None:
        raise _BadCellError(name, f"a time needs its offset: {text[:40]}")
    try:
        return value.astimezone(UTC)
    except OverflowError as error:
        raise _BadCellError(name, f"no time that there is: {text[:40]}") from error
