"""One check by command and REST: exact document, exit codes, one row an input, nothing on refusal."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Callable
from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from django.core.cache import cache
from django.core.management import call_command
from django.test import Client
from django.utils import timezone

from apps.accounts.actors import Actor
from apps.accounts.models import Organisation
from apps.accounts.services import api_key_create
from apps.catalog.models import InstanceType
from apps.costchecks.comment import LIMITS, comment_markdown
from apps.costchecks.models import CostCheck
from apps.costchecks.services import CheckConflictError, Question, cost_check_make
from apps.prices.models import ListPrice
from finops.engine.checks.policies import policies_of
from finops.frames.cost_items import CheckInputError
from finops.frames.usage_file import parse_usage
from tests.support.plans import change, plan

pytestmark = pytest.mark.django_db
AT = datetime(2026, 11, 30, 12, tzinfo=UTC)
LISTED = datetime(2026, 7, 20, tzinfo=UTC)
VOLUME = {"type": "gp3", "size": 1000}


@pytest.fixture
def organisation() -> Organisation:
    cache.clear()
    for name, price in (("c5.4xlarge", "0.68"), ("m5.xlarge", "0.192")):
        ListPrice.objects.create(
            provider="aws", region="us-east-1", instance_type=name, operating_system="linux",
            licence="none", tenancy="shared", currency="USD", effective_from=LISTED,
            price=Decimal(price), source="test",
        )  # fmt: skip
    return Organisation.default()


Run = Callable[..., tuple[dict[str, Any], int]]


@pytest.fixture
def run(organisation: Organisation, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Run:
    """`run(content, policies, "--strict")` is the document and the exit code."""

    def check(content: bytes, policies: object = None, *more: str) -> tuple[dict[str, Any], int]:
        (tmp_path / "plan.json").write_bytes(content)
        words = [str(tmp_path / "plan.json"), "--json", "--at", "2026-11-30T12:00:00Z", *more]
        if policies is not None:
            (tmp_path / "policy.json").write_text(json.dumps(policies))
            words += ["--policy", str(tmp_path / "policy.json")]
        with pytest.raises(SystemExit) as ended:
            call_command("check_cost", *words)
        return json.loads(capsys.readouterr().out), int(str(ended.value.code))

    return check


def moved(before: int, after: int) -> bytes:
    return plan(change("aws_ebs_volume.a", {**VOLUME, "size": after}, {**VOLUME, "size": before}))


@pytest.mark.parametrize(
    ("content", "more", "verdict", "code"),
    [
        (moved(1000, 1100), (), "pass", 0),
        (moved(1000, 2000), (), "deny", 20),
        (plan(change("aws_ebs_volume.a", {"type": "gp9", "size": 1})), (), "cannot judge", 30),
        (plan(change("aws_ebs_volume.a", {**VOLUME, "type": "gp2"})), (), "warn", 0),
        (plan(change("aws_ebs_volume.a", {**VOLUME, "type": "gp2"})), ("--strict",), "warn", 10),
        (plan(change("aws_ebs_volume.a", VOLUME), change("aws_x.y", {})), (), "pass", 0),
        (plan(change("aws_ebs_volume.a", VOLUME), change("aws_x.y", {})), ("--strict",), "cannot judge", 30),
        (plan(), (), "pass", 0),
    ],
)
def test_exit_codes(content: bytes, more: tuple[str, ...], verdict: str, code: int, run: Run) -> None:
    # 1,000 GiB more of gp3 are +80 a month.
    policies = {
        "max_increase": "79.99" if verdict == "deny" else "100.00",
        "policies": [{"kind": "volume_types", "types": ["gp2"]}],
    }
    document, ended = run(content, policies, *more)
    assert (document["verdict"], document["exit_code"], ended) == (verdict, code, code)
    stored = CostCheck.objects.get()
    assert stored.verdict == verdict
    assert document["id"] == stored.pk


def test_the_document_has_exact_numbers_and_tells_absent_from_unknown(run: Run) -> None:
    document, code = run(
        plan(
            change("aws_instance.etl", {"instance_type": "c5.4xlarge", "root_block_device": [
                {"volume_type": "gp3", "volume_size": 8}]}),
            change("aws_sagemaker_endpoint.score", {}),
        )
    )  # fmt: skip
    amounts = {"low": "497.04", "expected": "497.04", "high": "497.04"}
    assert (document["before"], document["after"], document["delta"]) == ("absent", amounts, amounts)
    assert (document["delta_pct"], document["label"], document["currency"]) == (None, "new", "USD")
    assert (document["incomplete"], code) == (1, 0)
    assert document["unpriced"] == [
        {"address": "aws_sagemaker_endpoint.score", "component": "all", "side": "after",
         "reason": "no price is known for aws_sagemaker_endpoint"}
    ]  # fmt: skip
    assert document["resources"][0]["delta"] == amounts
    assert document["resources"][1]["after"] is None
    assert document["evidence"]["later_prices"] is False
    assert document["evidence"]["at"] == "2026-11-30T12:00:00Z"
    assert "NaN" not in json.dumps(document)


@pytest.mark.parametrize("content", [b"", b"{", b'{"format_version": "1.0", "resource_changes": 1}'])
def test_refused_input_is_exit_3_and_stores_nothing(content: bytes, run: Run) -> None:
    document, code = run(content)
    assert code == 3
    assert document["error"]["message"]
    assert not CostCheck.objects.exists()


def test_a_wrong_policy_file_is_exit_2_and_stores_nothing(run: Run) -> None:
    document, code = run(moved(1, 2), {"max_increase": "1,234"})
    assert (code, document["error"]["field"]) == (2, "limit")
    document, code = run(moved(1, 2), None, "--team", "nobody")
    assert (code, document["error"]["field"]) == (2, "team")
    assert not CostCheck.objects.exists()


def test_the_same_input_on_the_same_data_is_one_row(run: Run) -> None:
    first, _ = run(moved(1000, 1100))
    assert run(moved(1000, 1100))[0] == first
    assert run(moved(1000, 1101))[0]["id"] != first["id"]
    assert CostCheck.objects.count() == 2


def test_a_key_names_one_input(organisation: Organisation) -> None:
    question = Question(moved(1, 2), key="build-7")
    row = cost_check_make(organisation=organisation, question=question, at=AT)
    later = AT.replace(day=1, month=12)
    assert cost_check_make(organisation=organisation, question=question, at=later).pk == row.pk
    with pytest.raises(CheckConflictError):
        cost_check_make(organisation=organisation, question=Question(moved(1, 3), key="build-7"), at=AT)
    assert CostCheck.objects.count() == 1
    other = Organisation.objects.create(name="Other", slug="other")
    assert cost_check_make(organisation=other, question=question, at=AT).pk != row.pk


def test_the_main_branch_is_the_base(organisation: Organisation) -> None:
    def check(size: int, ref: str, base: str = "", who: Organisation = organisation) -> CostCheck:
        content = plan(change("aws_ebs_volume.a", {**VOLUME, "size": size}))
        asked = Question(content, project="infra", ref=ref, base_ref=base)
        return cost_check_make(organisation=who, question=asked, at=AT)

    nothing = check(2000, "pr-1", "main")
    assert (nothing.document["before"], nothing.document["base"]["id"]) == ("absent", None)
    main = check(1000, "main")
    found = check(2000, "pr-2", "main")
    assert found.base == main
    assert found.document["before"]["expected"] == "80"
    assert found.document["delta"]["expected"] == "80"
    assert found.document["delta_pct"] == 100.0
    other = Organisation.objects.create(name="Other", slug="other")
    assert check(2000, "pr-3", "main", other).base is None


def test_secrets_are_nowhere_in_what_is_stored(organisation: Organisation) -> None:
    content = plan(
        change(
            'aws_db_instance.a["https://x.test/?token=CANARY1&page=2"]',
            {
                "instance_class": "db.t3.large",
                "engine": "mysql",
                "allocated_storage": 20,
                "password": "CANARY2",
            },
            after_sensitive={"password": True},
        ),
        variables={"password": {"value": "CANARY3"}},
    )
    row = cost_check_make(organisation=organisation, question=Question(content), at=AT)
    kept = json.dumps([row.document, row.state]) + comment_markdown(row.document)
    assert "CANARY" not in kept
    assert "page=2" in kept
    assert row.document["sensitive_dropped"] == 1


@pytest.mark.parametrize(("forge", "full"), [("github", False), ("azure", True), ("bitbucket", False)])
def test_a_diff_too_long_for_a_comment(forge: str, full: bool, organisation: Organisation) -> None:
    # 12.5 GiB of gp3 are 1.00 a month.
    names = [f"aws_ebs_volume.{'v' * 70}_{i:04d}" for i in range(900)]
    content = plan(*(change(name, {"type": "gp3", "size": 12.5}) for name in names))
    row = cost_check_make(organisation=organisation, question=Question(content), at=AT)
    text = comment_markdown(row.document, forge=forge, link="https://offpeak.test/checks/1/")
    assert len(text.encode()) <= LIMITS[forge]
    assert "+900.00" in text
    lines = [line for line in text.splitlines() if line.startswith("| create")]
    assert (len(lines) == 900) is full
    assert all(line.endswith("+1.00 |") for line in lines)
    if not full:
        assert f"and {900 - len(lines)} more" in text
        assert len(lines) > 100
    assert text.count("`") % 2 == 0
    assert "(https://offpeak.test/checks/1/)" in text
    assert row.document["exit_code"] == 0
    denied = Question(content, policies=policies_of({"max_increase": "899.99"}))
    assert cost_check_make(organisation=organisation, question=denied, at=AT).document["exit_code"] == 20


def test_shown_parts_add_up_to_the_shown_total(organisation: Organisation) -> None:
    # 3 x 12.5625 GiB x 0.08 = 3 x 1.005 = 3.015
    content = plan(*(change(f"aws_ebs_volume.v{i}", {"type": "gp3", "size": 12.5625}) for i in range(3)))
    row = cost_check_make(organisation=organisation, question=Question(content), at=AT)
    assert row.document["delta"]["expected"] == "3.015"
    text = comment_markdown(row.document)
    assert "+3.02" in text
    shown = [line.split("|")[-2].strip() for line in text.splitlines() if line.startswith("| create")]
    assert shown == ["+1.01", "+1.01", "+1.00"]


def test_the_comment_is_no_markup_of_the_plan(organisation: Organisation) -> None:
    address = 'aws_ebs_volume.a["|`</td><script>@everyone"]'
    row = cost_check_make(
        organisation=organisation, question=Question(plan(change(address, VOLUME)), project="a-->b"), at=AT
    )
    text = comment_markdown(row.document)
    assert text.startswith("<!-- offpeak cost check: a--b -->\n")
    assert '`aws_ebs_volume.a["\\|\'</td><script>@everyone"]`' in text


def test_csv_has_numbers_as_numbers_and_no_formula(
    organisation: Organisation, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    content = plan(change("=cmd.x", {}), change("aws_ebs_volume.a", None, {"type": "gp3", "size": 1000}))
    (tmp_path / "plan.json").write_bytes(content)
    with pytest.raises(SystemExit):
        call_command("check_cost", str(tmp_path / "plan.json"), "--format", "csv")
    rows = list(csv.reader(io.StringIO(capsys.readouterr().out)))
    assert [row[0] for row in rows[1:]] == ["aws_ebs_volume.a", "'=cmd.x"]
    assert rows[1][-2:] == ["-80", "-80"]
    assert rows[2][5:] == [""] * 9


def client(organisation: Organisation, *scopes: str) -> Client:
    _key, token = api_key_create(
        organisation=organisation, actor=Actor.system("test"), name="ci", scopes=scopes, now=timezone.now()
    )
    return Client(headers={"Authorization": f"Bearer {token}"})


def post(caller: Client, **body: Any) -> Any:
    return caller.post("/api/v1/cost-checks", json.dumps(body), content_type="application/json")


def test_rest_gives_the_document_of_the_verb(organisation: Organisation, run: Run) -> None:
    by_verb, _ = run(moved(1000, 2000), {"max_increase": "10"})
    caller = client(organisation, "read:advice")
    answer = post(
        caller, input=moved(1000, 2000).decode(), policies={"max_increase": "10"}, at="2026-11-30T12:00:00Z"
    )
    assert answer.status_code == 200
    link = f"http://testserver/checks/{by_verb['id']}/"
    assert answer.json() == {**by_verb, "link": link}
    assert caller.get(f"/api/v1/cost-checks/{by_verb['id']}").json() == answer.json()
    listed = caller.get("/api/v1/cost-checks").json()
    assert (listed["count"], listed["results"][0]["verdict"]) == (1, "deny")
    assert listed["results"][0]["sentence"] == "Deny: +80.00 USD a month."


def test_rest_refuses_with_the_field_and_stores_nothing(organisation: Organisation) -> None:
    caller = client(organisation, "read:advice")
    good = moved(1, 2).decode()
    for body, field in (
        ({"input": "{"}, "input"),
        ({"input": good, "policies": {"max_increase": "1,234"}}, "policies"),
        ({"input": good, "policies": [1]}, "policies"),
        ({"input": good, "usage": {"defaults": {"hours": "x"}}}, "usage"),
        ({"input": good, "team": "nobody"}, "team"),
        ({"input": good, "kind": "cobol"}, "kind"),
        ({"input": good, "surprise": 1}, "surprise"),
        ({"input": good.replace("gp3", "\\ud800")}, "input"),
        ({"input": good.replace("gp3", "\\u0000")}, "input"),
        ({"input": good, "policies": {"policies": [{"kind": "team_budget", "team": "\x00"}]}}, "policies"),
    ):
        answer = post(caller, **body)
        assert answer.status_code == 400, body
        assert [one["field"] for one in answer.json()["error"]["fields"]] == [field]
    assert not CostCheck.objects.exists()
    assert post(client(organisation, "read:prices"), input=good).status_code == 403


def test_another_organisation_sees_nothing_and_a_key_conflict_is_409(organisation: Organisation) -> None:
    caller = client(organisation, "read:advice")
    row = post(caller, input=moved(1, 2).decode(), key="k").json()
    assert post(caller, input=moved(1, 3).decode(), key="k").status_code == 409
    other = client(Organisation.objects.create(name="Other", slug="other"), "read:advice")
    assert other.get(f"/api/v1/cost-checks/{row['id']}").status_code == 404
    assert other.get("/api/v1/cost-checks").json()["count"] == 0


def test_manifests_and_workload_files_are_read_by_kind(organisation: Organisation) -> None:
    InstanceType.objects.create(
        provider="aws", name="m5.xlarge", vcpus=4, memory_mib=16384, architectures=["x86_64"], gpu_count=0
    )
    usage = parse_usage(b"defaults: {region: us-east-1, node_type: m5.xlarge}")
    pod = b"""{kind: Pod, metadata: {name: a}, spec: {containers: [
        {name: a, resources: {requests: {cpu: 500m, memory: 4Gi}}}]}}"""
    asked = Question(pod, kind="kubernetes", usage=usage)
    row = cost_check_make(organisation=organisation, question=asked, at=AT)
    assert row.document["delta"]["expected"] == "35.04"  # 0.25 x 0.192 x 730
    work = b"{hours: 10, types: [m5.xlarge], regions: [us-east-1], product: Linux/UNIX}"
    row = cost_check_make(organisation=organisation, question=Question(work, kind="workload"), at=AT)
    assert row.document["after"]["expected"] == "1.92"
    assert row.verdict == "warn"  # it may be interrupted and runs on demand
    for kind in ("kubernetes", "workload"):
        with pytest.raises(CheckInputError):
            cost_check_make(organisation=organisation, question=Question(b"a: [", kind=kind), at=AT)
    assert CostCheck.objects.count() == 2
