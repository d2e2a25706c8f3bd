"""Rules that watch offers, by the verb `deal_rules`: listed, added, replaced whole, removed, refused."""

from __future__ import annotations

import io
import json
from typing import Any

import pytest
from django.core.management import call_command

from apps.accounts.models import AuditEntry, Organisation
from apps.recommendations.models import DealRule

pytestmark = pytest.mark.django_db


@pytest.fixture
def organisation(db: None) -> Organisation:
    return Organisation.default()


def asked(*words: str) -> dict[str, Any]:
    out = io.StringIO()
    call_command("deal_rules", *words, "--json", stdout=out, stderr=io.StringIO())
    return json.loads(out.getvalue())  # type: ignore[no-any-return]


def refused(*words: str) -> dict[str, Any]:
    out = io.StringIO()
    with pytest.raises(SystemExit) as ended:
        call_command("deal_rules", *words, "--json", stdout=out, stderr=io.StringIO())
    assert ended.value.code == 2
    return json.loads(out.getvalue())["error"]


def test_a_rule_is_added_replaced_whole_and_removed(organisation: Organisation) -> None:
    assert asked() == {"rules": []}
    [made] = asked(
        "--add", "cheap", "--min-saving-pct", "20", "--regions", "us-east-1,eu-west-1", "--instance-types",
        "m5.large", "--platforms", "Linux/UNIX", "--break-even-before", "2027-01-31",
    )["rules"]  # fmt: skip
    assert (made["name"], made["min_saving_pct"], made["regions"], made["break_even_before"]) == (
        "cheap", "20", ["us-east-1", "eu-west-1"], "2027-01-31",
    )  # fmt: skip
    [now] = asked("--replace", str(made["id"]), "--max-list-pct", "60.5", "--inactive")["rules"]
    assert (now["id"], now["name"], now["min_saving_pct"], now["max_list_pct"], now["regions"]) == (
        made["id"], "cheap", None, "60.5", [],
    )  # fmt: skip
    assert now["active"] is False
    out = io.StringIO()
    call_command("deal_rules", stdout=out)
    assert out.getvalue().split() == [str(made["id"]), "cheap", "max_list_pct=60.5", "inactive"]
    assert asked("--remove", str(made["id"])) == {"rules": []}
    actions = AuditEntry.objects.filter(action__startswith="deal_rule.").order_by("pk")
    assert [(one.action, one.actor_label) for one in actions] == [
        ("deal_rule.create", "command line"),
        ("deal_rule.change", "command line"),
        ("deal_rule.remove", "command line"),
    ]


@pytest.mark.parametrize(
    ("words", "field"),
    [
        (("--add", "nothing asked for"), "min_saving_pct"),
        (("--add", "team", "--max-list-pct", "1", "--team", "nonsense"), "team"),
        (("--add", "place", "--max-list-pct", "1", "--platforms", "BeOS"), "platforms"),
        (("--replace", "4711", "--max-list-pct", "1"), "replace"),
        (("--remove", "99999999999999999999"), "remove"),
        (("--max-list-pct", "1"), "add"),
    ],
)
def test_what_makes_no_rule_is_wrong_usage(
    organisation: Organisation, words: tuple[str, ...], field: str
) -> None:
    assert refused(*words)["field"] == field
    assert not DealRule.objects.exists()


def test_the_rule_of_another_organisation_is_not_found(organisation: Organisation) -> None:
    other = Organisation.objects.create(name="Other", slug="other")
    rule = DealRule.objects.create(organisation=other, name="theirs", max_list_pct=50)
    assert refused("--remove", str(rule.pk))["message"] == f"There is no rule {rule.pk}. Known: -."
    assert DealRule.objects.count() == 1
