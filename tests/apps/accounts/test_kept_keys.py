"""A key looked up a moment ago is not asked for again; a revoked one opens nothing from then on."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta
from typing import Any

import pytest
from django.core.cache import cache
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from apps.accounts import key_cache
from apps.accounts.actors import Actor
from apps.accounts.key_cache import KEPT_SECONDS, cached_key_of_token
from apps.accounts.models import ApiKey, Organisation
from apps.accounts.services import api_key_create, api_key_revoke

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def _fresh() -> Iterator[None]:
    cache.clear()
    key_cache._kept.clear()
    yield
    key_cache._kept.clear()


def make(organisation: Organisation) -> tuple[ApiKey, str]:
    return api_key_create(
        organisation=organisation, actor=Actor.system("t"), name="x", scopes=["read:prices"],
        now=timezone.now(), expires_days=1,
    )  # fmt: skip


def asked(token: str, later: timedelta = timedelta(0)) -> tuple[str, int]:
    """State of the token and how many questions to the database it took."""
    with CaptureQueriesContext(connection) as queries:
        _key, state = cached_key_of_token(token, now=timezone.now() + later)
    return state, len(queries)


def test_a_key_is_looked_up_once_and_its_expiry_each_time(organisation: Organisation) -> None:
    _key, token = make(organisation)
    assert [asked(token), asked(token)] == [("active", 1), ("active", 0)]
    assert asked(token, timedelta(days=2)) == ("expired", 0)
    wrong = token[:-1] + ("0" if token[-1] != "0" else "1")
    assert [asked(wrong), asked(wrong)] == [("unknown", 1), ("unknown", 1)]


def test_a_revoked_key_opens_nothing_in_any_process_from_then_on(
    organisation: Organisation, django_capture_on_commit_callbacks: Any
) -> None:
    key, token = make(organisation)
    asked(token)
    before = cache.get(key_cache.WORD)
    with django_capture_on_commit_callbacks(execute=True):
        api_key_revoke(key=key, actor=Actor.system("t"), now=timezone.now())
        between = cache.get(key_cache.WORD)
    # What another process kept under the word of before, or between change and commit, counts no more.
    assert len({before, between, cache.get(key_cache.WORD)}) == 3
    assert asked(token)[0] == "revoked"


def test_a_change_of_the_organisation_is_seen(organisation: Organisation) -> None:
    _key, token = make(organisation)
    asked(token)
    organisation.name = "New name"
    organisation.save()
    key, _state = cached_key_of_token(token, now=timezone.now())
    assert key is not None
    assert key.organisation.name == "New name"


def test_without_a_shared_cache_each_request_asks(
    organisation: Organisation, settings: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    _key, token = make(organisation)
    asked(token)
    with monkeypatch.context() as away:
        away.setattr(key_cache.cache, "get", lambda *_names, **_more: None)
        assert [asked(token), asked(token)] == [("active", 1), ("active", 1)]
    settings.CACHE_URL = ""
    assert [asked(token), asked(token)] == [("active", 1), ("active", 1)]


def test_a_change_that_the_cache_missed_is_seen_within_seconds(
    organisation: Organisation, monkeypatch: pytest.MonkeyPatch
) -> None:
    key, token = make(organisation)
    asked(token)
    ApiKey.objects.filter(pk=key.pk).update(revoked_at=timezone.now())
    moment = key_cache.time.monotonic() + KEPT_SECONDS
    monkeypatch.setattr(key_cache.time, "monotonic", lambda: moment)
    assert asked(token) == ("revoked", 1)


def test_there_is_no_end_of_memory(organisation: Organisation, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(key_cache, "MOST", 2)
    for _n in range(5):
        asked(make(organisation)[1])
    assert len(key_cache._kept) <= 2
