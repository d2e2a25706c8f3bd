"""Each write of the API as a table: sent again under its key it is done once, another body is refused."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from typing import Any

import pytest
import time_machine
from django.test import Client

from apps.accounts.models import AuditEntry
from apps.api import urls
from apps.api.models import IdempotentCall
from apps.api.schema_hook import recorded
from apps.api.strict import PageQuery

pytestmark = pytest.mark.django_db
Make = Callable[..., Client]


@pytest.fixture(autouse=True)
def _no_limit(settings: Any) -> None:
    settings.API_THROTTLE_PER_MINUTE = 1_000_000


def writes() -> Iterator[tuple[str, str, Any]]:
    """(method, address, an example of its body) of each write without an id in its address."""
    for pattern in urls.urlpatterns:
        view = getattr(pattern.callback, "cls", None)
        if view is None or "<" in str(pattern.pattern) or str(pattern.pattern).startswith("device/"):
            continue
        for method in set(view.endpoints) & {"POST", "PUT", "PATCH"}:
            body = recorded().get(f"{view.__name__}_{method.lower()}", {}).get("body", {})
            yield method, f"/api/v1/{pattern.pattern}", body


def send(client: Client, method: str, address: str, body: Any, key: str) -> Any:
    return client.generic(
        method, address, json.dumps(body), "application/json", headers={"Idempotency-Key": key}
    )


def test_each_write_is_done_once_under_its_key_and_refused_with_another_body(sign_in: Make) -> None:
    client, done, refused = sign_in("admin"), 0, 0
    for method, address, body in writes():
        key = f"{method}{address}"
        first = send(client, method, address, body, key)
        assert first.status_code < 500, (address, first.content)
        if not 200 <= first.status_code < 300:
            refused += 1
            # A refused write gives its key back: it is no answer to be kept.
            assert not IdempotentCall.objects.filter(key=key).exists(), address
            continue
        done += 1
        trail = AuditEntry.objects.count()
        again = send(client, method, address, body, key)
        if IdempotentCall.objects.get(key=key).status == 0:  # a secret was shown
            assert (again.status_code, again.json()["error"]["code"]) == (409, "shown_once"), address
        else:
            assert (again.status_code, again.json()) == (first.status_code, first.json()), address
            assert again["Idempotency-Replayed"] == "true", address
        assert AuditEntry.objects.count() == trail, address
        other = send(client, method, address, {**body, "name": "another"}, key)
        assert other.status_code in (400, 409), address
        if other.status_code == 409:
            assert other.json()["error"]["code"] == "key_reused", address
        assert AuditEntry.objects.count() == trail, address
    assert done >= 12
    assert refused >= 10


@time_machine.travel(datetime.now(UTC), tick=False)  # answers that say when they were asked are alike too
def test_each_list_has_pages_a_tag_and_limits(sign_in: Make) -> None:
    client, lists, single = sign_in("admin"), 0, 0
    for pattern in urls.urlpatterns:
        view = getattr(pattern.callback, "cls", None)
        if view is None or "GET" not in view.endpoints or "<" in str(pattern.pattern):
            continue
        address, endpoint = f"/api/v1/{pattern.pattern}", view.endpoints["GET"]
        answer = client.get(address)
        assert answer.status_code < 500, address
        if answer.status_code in (401, 403):
            continue  # devices and machines
        assert int(answer["RateLimit-Remaining"]) >= 0, address
        assert not answer.has_header("Access-Control-Allow-Origin"), address
        if answer.status_code == 200 and answer.has_header("ETag"):
            again = client.get(address, headers={"If-None-Match": answer["ETag"]})
            assert (again.status_code, again.content) == (304, b""), address
            single += 1
        if issubclass(endpoint.query, PageQuery):
            lists += 1
            found = answer.json()
            assert {"count", "page", "page_size", "next", "results"} <= set(found), address
            assert client.get(f"{address}?page=0").status_code == 400, address
            assert client.get(f"{address}?page_size=501").status_code == 400, address
            assert client.get(f"{address}?page=2&page_size=500").status_code == 404, address
    assert lists >= 20
    assert single >= 20
