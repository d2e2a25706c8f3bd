"""An inventory of ten million objects into bands, against plain DuckDB's time for the same group-by.

The inventory is made here: three packed CSV files and their manifest, keys of seven levels of prefixes, sizes
and times spread by a hash. Plain DuckDB: one statement that reads the same files and groups them by prefix,
class, state, size band and age band, without a look at what is wrong in a row. Each in a process of its own,
one after the other, in seconds, by which it is judged, and in seconds of work, which say how far a machine
that is busy otherwise spoils the first. The import also checks the rows and the files' MD5 and keeps every
object in the lake. Memory is the peak of the process.

`python -m bench.storage_inventory [millions]`
"""

from __future__ import annotations

import gzip
import hashlib
import json
import os
import subprocess
import sys
import tempfile
import time
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

MILLIONS = 10
FILES = 3
LIMIT_RATIO, LIMIT_MB = 2.0, 1_500
SCHEMA = "Bucket, Key, VersionId, IsLatest, IsDeleteMarker, Size, LastModifiedDate, ETag, StorageClass"
_COLUMNS = ("b", "k", "v", "l", "x", "s", "m", "e", "c")


def make(folder: Path, millions: int) -> Path:
    """The configuration's folder with its manifest. The files hold one million rows again and again, under
    other keys: packed members one after another are one packed file.
    """
    import duckdb

    data = folder / "bench" / "all" / "data"
    data.mkdir(parents=True)
    parts: list[bytes] = []
    with duckdb.connect() as con:
        con.execute("SET threads = 2")
        for number in range(millions):
            path = folder / "part.csv"
            con.execute(
                "COPY (SELECT 'bench' AS b, "
                f"'team-' || (i % 37) || '/run-' || (i % 1000) || '/{number}/part-' || i || '.parquet' AS k, "
                "'v' || i AS v, CASE WHEN i % 11 = 0 THEN 'false' ELSE 'true' END AS l, "
                "'false' AS x, (hash(i) % 1000000) * (1 + hash(i + 7) % 300) AS s, "
                "strftime(TIMESTAMP '2024-01-01' + INTERVAL (hash(i + 3) % 60000000) SECOND, "
                "'%Y-%m-%dT%H:%M:%S.000Z') AS m, md5(i::VARCHAR) AS e, "
                "CASE WHEN i % 5 = 0 THEN 'STANDARD_IA' ELSE 'STANDARD' END AS c FROM range(1000000) r(i)) "
                f"TO '{path}' (FORMAT csv, HEADER false, FORCE_QUOTE *)"
            )
            parts.append(gzip.compress(path.read_bytes(), compresslevel=1, mtime=0))
            path.unlink()
    files = []
    for number in range(FILES):
        content = b"".join(parts[number::FILES])
        (data / f"{number}.csv.gz").write_bytes(content)
        key = f"inventories/bench/all/data/{number}.csv.gz"
        md5 = hashlib.md5(content, usedforsecurity=False).hexdigest()
        files.append({"key": key, "size": len(content), "MD5checksum": md5})
    manifest = {
        "sourceBucket": "bench", "fileFormat": "CSV", "fileSchema": SCHEMA, "files": files,
        "creationTimestamp": "1764378000000",
    }  # fmt: skip
    place = folder / "bench" / "all" / "2025-11-29T01-00Z"
    place.mkdir()
    (place / "manifest.json").write_text(json.dumps(manifest))
    return folder / "bench" / "all"


def _cpu() -> float:
    """Seconds of work of this process so far, of all its threads."""
    import resource

    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_utime + used.ru_stime


def plain(folder: str) -> None:
    """DuckDB alone; prints seconds, groups and the peak of this process."""
    import resource

    import duckdb

    from finops.frames.storage import AGE_EDGES, SIZE_EDGES

    def band(value: str, edges: tuple[int, ...]) -> str:
        cases = " ".join(f"WHEN {value} < {edge} THEN {i}" for i, edge in enumerate(edges[1:]))
        return f"CASE {cases} ELSE {len(edges) - 1} END"

    columns = ", ".join(f"'{name}': 'VARCHAR'" for name in _COLUMNS)
    age = "(DATE '2025-11-29' - CAST(left(m, 10) AS DATE))"
    begun = time.perf_counter()
    with duckdb.connect() as con:
        con.execute("SET threads = 2; SET memory_limit = '1GB'; SET preserve_insertion_order = false")
        groups = con.execute(
            f"SELECT left(k, strpos(k, '/')) AS prefix, c, l, "
            f"{band('CAST(s AS BIGINT)', SIZE_EDGES)} AS sizes, {band(age, AGE_EDGES)} AS ages, "
            "count(*), sum(CAST(s AS BIGINT)) "
            f"FROM read_csv('{folder}/data/*.csv.gz', auto_detect = false, header = false, delim = ',', "
            f"quote = '\"', escape = '\"', columns = {{{columns}}}) GROUP BY ALL"
        ).fetchall()
    seconds = time.perf_counter() - begun
    mb = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    objects = sum(group[5] for group in groups)
    told = {"seconds": seconds, "cpu": _cpu(), "groups": len(groups), "objects": objects, "mb": mb}
    print(json.dumps(told))


def ours(folder: str) -> None:
    """The import; prints the run's numbers and the peak of this process."""
    import resource

    import django

    django.setup()
    from apps.ingest.selectors import lake
    from apps.ingest.storage.run import storage_import
    from apps.storage.models import Listing

    lake()
    before = _cpu()
    run = storage_import(paths=[folder])
    found = Listing.objects.get()
    print(
        json.dumps(
            {
                "seconds": run.seconds,
                "cpu": _cpu() - before,
                "objects": found.objects_count,
                "groups": found.cells.count(),
                "rejected": run.rejected,
                "error": run.error,
                "mb": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
            }
        )
    )


def child(what: str, folder: Path, environment: dict[str, str]) -> dict[str, Any]:
    """The numbers of one process."""
    done = subprocess.run(
        [sys.executable, "-m", "bench.storage_inventory", f"--{what}", str(folder)],
        env=environment,
        check=True,
        stdout=subprocess.PIPE,
    )
    numbers: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return numbers


@contextmanager
def _home(root: Path) -> Iterator[dict[str, str]]:
    """The environment of an empty installation with embedded servers."""
    from finops.embedded.servers import Servers

    servers = Servers.of(root / f"home{uuid.uuid4().hex[:6]}", durable=False)
    holder = servers.acquire()
    try:
        environment = {
            **os.environ,
            **servers.environment(),
            "DJANGO_SETTINGS_MODULE": "finops.settings.check",
            "LAKE_WAREHOUSE": str(root / "lake"),
            "LAKE_THREADS": "2",
        }
        subprocess.run(
            [sys.executable, "manage.py", "migrate", "--verbosity", "0"], env=environment, check=True
        )
        yield environment
    finally:
        servers.release(holder)


def main() -> int:
    """Two lines of numbers and the ratio."""
    millions = max(FILES, int(sys.argv[1])) if len(sys.argv) > 1 else MILLIONS
    with tempfile.TemporaryDirectory(prefix="offpeak-bench-") as root:
        folder = make(Path(root), millions)
        base = child("plain", folder, dict(os.environ))
        with _home(Path(root)) as environment:
            mine = child("ours", folder, environment)
    whole = millions * 1_000_000
    if not whole == base["objects"] == mine["objects"] or mine["groups"] != base["groups"]:
        print(f"storage inventory: {mine} is not {base}")
        return 1
    ratio, work = (mine[name] / base[name] for name in ("seconds", "cpu"))
    print(
        f"storage inventory, {millions}M objects: plain DuckDB {base['seconds']:.1f} s "
        f"({base['cpu']:.1f} s of work), {base['groups']} groups, {base['mb']:.0f} MB"
    )
    print(
        f"storage inventory, {millions}M objects: import to bands and lake {mine['seconds']:.1f} s "
        f"({mine['cpu']:.1f} s of work), {mine['groups']} cells, peak {mine['mb']:.0f} MB "
        f"(limit {LIMIT_MB}); ratio {ratio:.2f}, of work {work:.2f} (limit {LIMIT_RATIO})"
    )
    return 0 if ratio <= LIMIT_RATIO and mine["mb"] <= LIMIT_MB else 1


if __name__ == "__main__":
    if "--plain" in sys.argv:
        plain(sys.argv[-1])
    elif "--ours" in sys.argv:
        ours(sys.argv[-1])
    else:
        sys.exit(main())
