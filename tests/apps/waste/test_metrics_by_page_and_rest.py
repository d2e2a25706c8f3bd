"""Metrics by file, CloudWatch and Prometheus: the same by page, REST and verb, and only what is allowed."""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import UTC, datetime
from io import StringIO
from typing import Any
from unittest.mock import patch

import pytest
from django.core.cache import cache
from django.core.files.uploadedfile import SimpleUploadedFile
from django.core.management import call_command
from django.test import Client

from apps.accounts.models import AuditEntry, Organisation
from apps.waste.models import ClusterUse, ListedResource, MetricSummary, WasteSetting
from apps.waste.services.collecting import collect_run
from tests.finops.providers.test_metrics_from_servers import server

pytestmark = pytest.mark.django_db
SignIn = Callable[[str], Client]
NOW = datetime(2026, 3, 31, tzinfo=UTC)
SAMPLES = (
    b"resource,metric,at,value\ni-1,cpu,2026-03-01T00:00:00Z,5\ni-1,cpu,2026-03-20T00:00:00Z,9\n"
    b"i-1,colour,2026-03-20T00:00:00Z,9\n"
)
CLUSTER = (
    b"cluster,namespace,workload,kind,start,end,cpu_cost,memory_cost,cost,currency,labels\n"
    b"c,web,shop,work,2026-03-01T00:00:00Z,2026-03-15T00:00:00Z,40,20,60,USD,team=a;app=shop\n"
    b"c,web,cart,work,2026-03-01T00:00:00Z,2026-03-15T00:00:00Z,10,10,20,USD,team=b\n"
    b"c,ops,log,work,2026-03-01T00:00:00Z,2026-03-15T00:00:00Z,10,10,20,USD,\n"
    b"c,,,idle,2026-03-01T00:00:00Z,2026-03-15T00:00:00Z,,,10,USD,\n"
    b"c,,,shared,2026-03-01T00:00:00Z,2026-03-15T00:00:00Z,,,5,USD,\n"
    b"c,web,bad,work,2026-03-01T00:00:00Z,2026-03-15T00:00:00Z,1,1,2,USD,team\n"
)


@pytest.fixture(autouse=True)
def nothing_kept(organisation: Organisation) -> None:
    cache.clear()


def upload(content: bytes, name: str = "x.csv") -> SimpleUploadedFile:
    return SimpleUploadedFile(name, content, content_type="text/csv")


def verb(*words: str) -> dict[str, Any]:
    out = StringIO()
    with patch("sys.stdout", out):
        call_command(*words, "--json")
    found: dict[str, Any] = json.loads(out.getvalue())
    return found


def test_a_file_by_rest_names_its_bad_row(sign_in: SignIn) -> None:
    answer = sign_in("engineer").post("/api/v1/waste/metrics", {"file": upload(SAMPLES)})
    assert answer.status_code == 200, answer.content
    told = answer.json()
    assert (told["rows_read"], told["stored"], told["rejected"]) == (3, 1, 1)
    assert told["rejections"][0] | {"reason": ""} == {
        "file": "x.csv", "row": 3, "field": "metric", "reason": "",
    }  # fmt: skip
    assert MetricSummary.objects.get().p99 == 9
    assert AuditEntry.objects.filter(action="waste_metrics.load").count() == 1


def test_a_file_of_no_known_form_is_refused_and_nothing_changes(sign_in: SignIn) -> None:
    client = sign_in("admin")
    for content in (b"colour,shape\nred,round\n", b"\xff\xfe\x00", b'{"data": 5}'):
        assert client.post("/api/v1/waste/metrics", {"file": upload(content)}).status_code in (400, 422)
        page = client.post("/waste/metrics/load/", {"file": upload(content)})
        assert page.status_code == 422
    assert not MetricSummary.objects.exists()
    assert not AuditEntry.objects.filter(action="waste_metrics.load").exists()


def test_the_page_shows_rejected_rows_and_what_is_stored(sign_in: SignIn) -> None:
    client = sign_in("engineer")
    text = client.post("/waste/metrics/load/", {"file": upload(SAMPLES)}).content.decode()
    assert "3 rows read, 1 stored, 1 rejected" in text
    assert "<code>metric</code>" in text
    listed = client.get("/api/v1/waste/metrics").json()["stored"]
    assert [(one["kind"], one["name"], one["rows"]) for one in listed] == [("metrics", "x.csv", 1)]


def test_who_may_not_load_or_collect_changes_nothing(sign_in: SignIn) -> None:
    client = sign_in("viewer")
    assert client.get("/waste/metrics/").status_code == 200
    assert client.post("/waste/metrics/load/", {"file": upload(SAMPLES)}).status_code == 403
    assert client.post("/api/v1/waste/metrics", {"file": upload(SAMPLES)}).status_code == 403
    body = json.dumps({"source": "cloudwatch", "region": "eu-west-1"})
    sent = client.post("/api/v1/waste/metrics/collect", body, content_type="application/json")
    assert sent.status_code == 403
    assert not MetricSummary.objects.exists()


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({"source": "prometheus", "url": "http://169.254.169.254"}, "url"),
        ({"source": "prometheus", "url": "https://allowed.example@evil.example"}, "url"),
        ({"source": "prometheus"}, "url"),
        ({"source": "prometheus", "url": "https://allowed.example", "label": "a)} or vector(1"}, "label"),
        ({"source": "prometheus", "url": "https://allowed.example", "core_hour": "NaN"}, "core_hour"),
        ({"source": "prometheus", "url": "https://allowed.example", "core_hour": "1"}, "currency"),
        ({"source": "cloudwatch", "region": "everywhere"}, "region"),
        ({"source": "cloudwatch", "region": "eu-west-1", "role": "admin"}, "role"),
    ],
)
def test_what_is_not_allowed_is_refused_by_field(
    body: dict[str, Any], field: str, sign_in: SignIn, settings: Any
) -> None:
    settings.PROMETHEUS_URLS = ["https://allowed.example"]
    with patch("apps.waste.tasks.waste_collect.delay") as queued:
        answer = sign_in("admin").post(
            "/api/v1/waste/metrics/collect", json.dumps(body), content_type="application/json"
        )
    assert answer.status_code == 400
    assert field in json.dumps(answer.json())
    assert not queued.called
    assert not AuditEntry.objects.filter(action="waste_metrics.collect").exists()


def test_prometheus_by_page_is_asked_by_a_worker(
    sign_in: SignIn, settings: Any, organisation: Organisation, django_capture_on_commit_callbacks: Any
) -> None:
    def answer(path: str, _body: bytes) -> tuple[int, Any]:
        values = [[NOW.timestamp() - 600, "12"], [NOW.timestamp() - 300, "20"]]
        rows = [{"metric": {"instance_id": "i-1"}, "values": values}]
        return 200, {"status": "success", "data": {"resultType": "matrix", "result": rows}}

    client = sign_in("engineer")
    with server(answer) as url, patch("apps.waste.tasks.waste_collect.delay") as queued:
        settings.PROMETHEUS_URLS = [url + "/"]
        form = {"url": url, "label": "instance_id", "days": "14"}
        with django_capture_on_commit_callbacks(execute=True):
            assert client.post("/waste/metrics/collect/prometheus/", form).status_code == 302
        assert "waits for a worker" in client.get("/waste/metrics/").content.decode()
        (asked, given) = queued.call_args.args
        assert asked == organisation.pk
        outcome = collect_run(organisation=organisation, given=given, now=NOW)
    assert (outcome["state"], outcome["stored"]) == ("done", 3)
    assert MetricSummary.objects.filter(resource="i-1").count() == 3
    assert client.get("/api/v1/waste/metrics").json()["collected"][0]["state"] == "done"


def test_an_address_that_is_closed_meanwhile_is_not_asked(organisation: Organisation, settings: Any) -> None:
    settings.PROMETHEUS_URLS = []
    given = {"source": "prometheus", "url": "http://127.0.0.1:9", "label": "instance_id", "days": "14"}
    outcome = collect_run(organisation=organisation, given=given, now=NOW)
    assert outcome["state"] == "failed"
    assert "PROMETHEUS_URLS" in outcome["error"]


def test_clusters_cost_the_same_by_namespace_workload_and_label(sign_in: SignIn) -> None:
    client = sign_in("engineer")
    told = client.post("/api/v1/waste/metrics", {"file": upload(CLUSTER)}).json()
    assert [(one["row"], one["field"]) for one in told["rejections"]] == [(6, "labels")]
    assert ClusterUse.objects.count() == 5
    by_team = client.get("/api/v1/waste/clusters?by=label:team").json()
    assert by_team == verb("cluster_costs", "--by", "label:team")
    told = [[one[name] for name in ("name", "own", "idle", "shared", "total")] for one in by_team["groups"]]
    assert told == [
        ["a", "60", "6", "3", "69"], [None, "20", "2", "1", "23"], ["b", "20", "2", "1", "23"],
    ]  # fmt: skip
    for by in ("namespace", "workload", "label:app", "label:none"):
        document = verb("cluster_costs", "--by", by)
        assert document["totals"] == {"USD": "115"}
    page = client.get("/waste/kubernetes/?by=label:team").content.decode()
    assert "69.00" in page
    assert client.get("/waste/kubernetes/?by=nonsense").status_code == 200
    assert client.get("/api/v1/waste/clusters?by=nonsense").status_code == 400


def test_a_rule_by_verb_is_what_page_and_rest_say(sign_in: SignIn) -> None:
    found = verb("waste_rules", "gateway-idle", "--set", "days=10", "--accounts", "1,2")
    (rule,) = found["rules"]
    assert (rule["settings"][0]["thresholds"], rule["settings"][0]["accounts"]) == (
        {"days": "10"},
        ["1", "2"],
    )
    listed = sign_in("viewer").get("/api/v1/waste/rules?page_size=100").json()["results"]
    assert rule in listed
    assert verb("waste_rules", "gateway-idle", "--off")["rules"][0]["enabled"] is False
    assert AuditEntry.objects.filter(action="waste_setting.save").count() == 2
    assert verb("waste_rules", "gateway-idle", "--reset")["rules"][0]["settings"] == []
    assert not WasteSetting.objects.exists()
    with pytest.raises(SystemExit):
        verb("waste_rules", "gateway-idle", "--set", "days=soon")
    assert not WasteSetting.objects.exists()


def test_a_list_replaces_its_kind_only_when_it_is_one(sign_in: SignIn) -> None:
    client = sign_in("engineer")
    client.post("/api/v1/waste/metrics", {"file": upload(b"resource,kind\nvol-1,volume\n")})
    client.post("/api/v1/waste/metrics", {"file": upload(b"resource,kind\n,volume\n")})
    assert ListedResource.objects.get().resource == "vol-1"
