"""A name that nobody knows is wrong usage with the known names, never an empty answer or another's."""

from __future__ import annotations

import io
import json
from typing import Any

import pytest
from django.core.management import call_command
from django.test import Client

from apps.accounts.models import Membership, Organisation, Team, User
from apps.recommendations.models import InboxLook

pytestmark = pytest.mark.django_db
PRICES = ("--region", "us-east-1", "--type", "m5.large", "--product", "Linux/UNIX")
AT = ("--from", "2026-01-01T00:00:00Z", "--to", "2026-01-02T00:00:00Z")


@pytest.fixture(autouse=True)
def team(db: None) -> None:
    Team.objects.create(organisation=Organisation.default(), name="Data", slug="data")


def client() -> Client:
    user, _made = User.objects.get_or_create(email="v@example.test")
    Membership.objects.get_or_create(user=user, organisation=Organisation.default(), role="viewer")
    found = Client()
    found.force_login(user)
    return found


def refused(*words: str) -> dict[str, Any]:
    out = io.StringIO()
    with pytest.raises(SystemExit) as ended:
        call_command(*words, "--json", stdout=out, stderr=io.StringIO())
    assert ended.value.code == 2
    return json.loads(out.getvalue())["error"]


@pytest.mark.parametrize(
    "words",
    [
        ("advise_commitments",),
        ("commitments",),
        ("demand",),
        ("sell_commitments",),
        ("price_deal", "--list-fixed", "500", "--on-demand", "0.1"),
        ("prices", "--zone", "us-east-1a", *PRICES, *AT),
        ("profile", "--timezone", "UTC", *PRICES),
        ("run_cost", "--zone", "us-east-1a", "--start", AT[1], "--hours", "1", *PRICES),
    ],
)
def test_a_provider_nobody_knows(words: tuple[str, ...]) -> None:
    error = refused(*words, "--provider", "nonsense")
    assert error["field"] == "provider"
    assert "Known: aws, " in error["message"]


@pytest.mark.parametrize(
    ("field", "word", "known"),
    [("team", "nonsense", "data, none"), ("owner", "nobody@example.com", "none")],
)
def test_a_team_or_an_owner_nobody_knows(field: str, word: str, known: str) -> None:
    error = refused("recommendations", f"--{field}", word)
    assert (error["field"], word in error["message"], known in error["message"]) == (field, True, True)
    # Refused before anything was looked for.
    assert not InboxLook.objects.exists()
    answer = client().get("/api/v1/recommendations", {field: word})
    assert answer.status_code == 400
    assert known in json.dumps(answer.json())


@pytest.mark.parametrize(
    ("option", "known"),
    [("kinds", "second-hand"), ("payments", "no-upfront"), ("classes", "convertible")],
)
def test_terms_nobody_offers(option: str, known: str) -> None:
    error = refused("advise_commitments", f"--{option}", f"{known},nonsense")
    assert error["field"] == option
    assert error["message"].startswith("Not known: nonsense. Known: ")
    assert known in error["message"]


def test_known_names_are_answered() -> None:
    for words in (("recommendations", "--team", "data"), ("recommendations", "--owner", "none")):
        out = io.StringIO()
        call_command(*words, "--json", stdout=out)
        assert json.loads(out.getvalue())["recommendations"] == []


def test_a_provider_of_no_bill_by_rest() -> None:
    answer = client().get("/api/v1/bills/deliveries", {"provider": "nonsense"})
    assert answer.status_code == 400
    assert "alibaba, aws, azure" in json.dumps(answer.json())
    assert client().get("/api/v1/bills/deliveries", {"provider": "gcp"}).json()["results"] == []
