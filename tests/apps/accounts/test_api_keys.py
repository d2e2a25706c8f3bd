"""Keys: shown once, kept as a hash, limited in time and scope, the organisation's and nobody's."""

from __future__ import annotations

import io
import json
import re
from datetime import UTC, datetime, timedelta

import pytest
from django.core.exceptions import ValidationError
from django.core.management import CommandError, call_command
from django.db import IntegrityError, connection, transaction

from apps.accounts.actors import Actor
from apps.accounts.models import ApiKey, AuditEntry, Membership, Organisation, Team
from apps.accounts.selectors import api_key_of_token
from apps.accounts.services import api_key_create, api_key_revoke, api_key_used

pytestmark = pytest.mark.django_db
NOW = datetime(2026, 3, 6, 9, tzinfo=UTC)


@pytest.fixture
def made(organisation: Organisation, actor: Actor) -> tuple[ApiKey, str]:
    return api_key_create(
        organisation=organisation,
        actor=actor,
        name="CI",
        scopes=["read:prices", "read:advice", "read:prices"],
        now=NOW,
    )


def test_the_token_has_256_random_bits_and_is_not_in_the_database(made: tuple[ApiKey, str]) -> None:
    key, token = made
    assert re.fullmatch(r"opk_[a-z2-7]{10}_[0-9a-f]{64}", token)
    secret = token.rsplit("_", 1)[1]
    with connection.cursor() as cursor:
        for table in ("accounts_apikey", "accounts_auditentry"):
            cursor.execute(f"SELECT count(*) FROM {table} t WHERE t::text LIKE %s", [f"%{secret}%"])
            assert cursor.fetchone() == (0,)
    assert key.scopes == ["read:advice", "read:prices"]
    assert key.expires_at == datetime(2026, 6, 4, 9, tzinfo=UTC)


def test_only_the_right_secret_within_its_time_opens(made: tuple[ApiKey, str]) -> None:
    key, token = made
    assert api_key_of_token(token, now=NOW) == (key, "active")
    last = key.expires_at - timedelta(microseconds=1)
    assert api_key_of_token(token, now=last) == (key, "active")
    assert api_key_of_token(token, now=key.expires_at) == (key, "expired")
    wrong = token[:-1] + ("0" if token[-1] != "0" else "1")
    for bad in (wrong, "", "opk_", token.upper(), f" {token}", token + "\n", token.replace("opk_", "")):
        assert api_key_of_token(bad, now=NOW) == (None, "unknown")


def test_a_revoked_key_stays_revoked_and_is_written_down_once(made: tuple[ApiKey, str], actor: Actor) -> None:
    key, token = made
    api_key_revoke(key=key, actor=actor, now=NOW)
    api_key_revoke(key=key, actor=actor, now=NOW + timedelta(days=1))
    key.refresh_from_db()
    assert key.revoked_at == NOW
    assert api_key_of_token(token, now=NOW) == (key, "revoked")
    assert list(AuditEntry.objects.order_by("pk").values_list("action", flat=True)) == [
        "api_key.create",
        "api_key.revoke",
    ]
    entry = AuditEntry.objects.get(action="api_key.revoke")
    assert entry.before["revoked_at"] is None
    assert entry.after["revoked_at"] == "2026-03-06T09:00:00Z"


def test_a_key_survives_the_person_who_made_it(made: tuple[ApiKey, str], admin: Membership) -> None:
    key, token = made
    user = admin.user
    admin.delete()
    user.delete()
    key.refresh_from_db()
    assert key.created_by is None
    assert api_key_of_token(token, now=NOW) == (key, "active")


def test_uses_are_noted_at_most_once_a_minute(made: tuple[ApiKey, str]) -> None:
    key, _token = made
    for seconds in (0, 59, 60):
        api_key_used(key=ApiKey.objects.get(pk=key.pk), now=NOW + timedelta(seconds=seconds))
        key.refresh_from_db()
        assert key.last_used_at == NOW + timedelta(seconds=seconds // 60 * 60)


@pytest.mark.parametrize(
    ("change", "field"),
    [
        ({"name": "  "}, "name"),
        ({"name": "x" * 101}, "name"),
        ({"scopes": []}, "scopes"),
        ({"scopes": ["read:prices", "root"]}, "scopes"),
        ({"expires_days": 0}, "expires_days"),
        ({"expires_days": 366}, "expires_days"),
    ],
)
def test_a_wrong_key_is_refused_by_field(
    organisation: Organisation, actor: Actor, change: dict[str, object], field: str
) -> None:
    values: dict[str, object] = {"name": "CI", "scopes": ["read:prices"], **change}
    with pytest.raises(ValidationError) as refused:
        api_key_create(organisation=organisation, actor=actor, now=NOW, **values)  # type: ignore[arg-type]
    assert list(refused.value.message_dict) == [field]
    assert (ApiKey.objects.count(), AuditEntry.objects.count()) == (0, 0)


@pytest.mark.parametrize(
    "change",
    [
        {"expires_at": NOW},
        {"expires_at": NOW + timedelta(days=367)},
        {"scopes": []},
        {"secret_hash": "plain"},
    ],
)
def test_the_database_refuses_what_a_service_would(
    made: tuple[ApiKey, str], change: dict[str, object]
) -> None:
    with pytest.raises(IntegrityError), transaction.atomic():
        ApiKey.objects.filter(pk=made[0].pk).update(**change)


def test_a_key_belongs_to_a_team_of_its_own_organisation(
    made: tuple[ApiKey, str], organisation: Organisation, actor: Actor
) -> None:
    elsewhere = Organisation.objects.create(name="Elsewhere", slug="elsewhere")
    foreign = Team.objects.create(organisation=elsewhere, name="F", slug="f")
    with pytest.raises(ValidationError):
        api_key_create(
            organisation=organisation, actor=actor, name="x", scopes=["read:prices"], now=NOW, team=foreign
        )
    with pytest.raises(IntegrityError, match="own organisation"), transaction.atomic():
        ApiKey.objects.update(team=foreign)


def test_the_command_prints_one_document_with_the_token() -> None:
    out, err = io.StringIO(), io.StringIO()
    call_command(
        "create_api_key",
        "--name=CI",
        "--scopes=read:prices, write:ingest",
        "--expires-days=30",
        "--json",
        stdout=out,
        stderr=err,
    )
    found = json.loads(out.getvalue())
    assert sorted(found) == ["expires_at", "id", "name", "prefix", "scopes", "team", "token"]
    assert (found["scopes"], found["team"], err.getvalue()) == (["read:prices", "write:ingest"], None, "")
    key, state = api_key_of_token(found["token"], now=datetime.now(UTC))
    assert (key.pk if key else None, state) == (found["id"], "active")
    assert key is not None
    assert key.expires_at - key.created_at == timedelta(days=30)
    entry = AuditEntry.objects.get()
    assert (entry.actor_kind, entry.actor_id, entry.actor_label) == ("system", None, "create_api_key")


def test_the_command_refuses_wrong_options_with_exit_code_2() -> None:
    for arguments in (["--scopes=root"], ["--scopes=read:prices", "--expires-days=999"]):
        with pytest.raises(CommandError) as refused:
            call_command("create_api_key", "--name=CI", *arguments)
        assert refused.value.returncode == 2
    assert ApiKey.objects.count() == 0
