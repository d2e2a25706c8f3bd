"""Advice for one workload over a region, against its plain DuckDB queries plus ten empty signed-in pages.

`python -m bench.advice`: `POST /api/v1/advice/launch` on the demo prices; with OFFPEAK_BENCH_DATA on the
us-east-1 archive of 2021 too. Cold and from the kept answer; medians of 3, ratios to the baselines beside it.
The set-up and the baselines are those of `bench.pages`.
"""

from __future__ import annotations

import json
import sys
from typing import Any

from bench.pages import (
    CACHED_LIMIT,
    COLD_LIMIT,
    child,
    forget,
    main,
    median_seconds,
    plain_queries,
)


def measure(case: tuple[str, str, list[str], str], client: Any) -> bool:
    """Print one line; True within the limits."""
    name, kind, regions, home = case
    at = "2020-03-06T09:00:00Z" if name == "demo" else "2021-05-20T09:00:00Z"
    body = json.dumps(
        {
            "hours": 8,
            "types": [kind],
            "regions": regions,
            "home_zone": home,
            "product": "Linux/UNIX",
            "slack_hours": 24,
            "at": at,
        }
    )

    def ask() -> None:
        response = client.post("/api/v1/advice/launch", body, content_type="application/json")
        assert response.status_code == 200, response.content[:300]

    def page() -> None:
        assert client.get("/empty/").status_code == 200

    page()
    empty = median_seconds(page)
    queries = median_seconds(lambda: plain_queries(regions, kind))
    ask()
    cold, kept = median_seconds(ask, forget), median_seconds(ask)
    ratios = cold / (queries + 10 * empty), kept / empty
    print(
        f"advice, {name} {kind}: {cold:.3f} s = {ratios[0]:.2f}x of its queries ({queries:.3f} s) and ten "
        f"empty pages ({empty * 1000:.1f} ms each), limit {COLD_LIMIT}; kept {kept * 1000:.1f} ms = "
        f"{ratios[1]:.2f}x one empty page, limit {CACHED_LIMIT}",
        flush=True,
    )
    return ratios[0] <= COLD_LIMIT and ratios[1] < CACHED_LIMIT


if __name__ == "__main__":
    sys.exit(child(measure) if "--child" in sys.argv else main("bench.advice"))
