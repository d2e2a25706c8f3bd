"""Why rows and questions were refused, on Chinese pages in Chinese; stored and exported in English."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Callable
from datetime import timedelta

import pytest
from django.core.exceptions import ValidationError
from django.test import Client
from django.utils import translation

from apps.accounts.actors import Actor
from apps.accounts.models import Organisation
from apps.ingest.models import IngestRun
from apps.launches.models import LaunchState
from apps.launches.services.switches import target_save
from tests.support.launches import NOW, launch, plan, target

pytestmark = pytest.mark.django_db
SignIn = Callable[..., Client]
CHINESE = {"Accept-Language": "zh-hans"}


def test_a_rejected_row_and_a_failed_run(sign_in: SignIn, loaded: IngestRun) -> None:
    browser = sign_in("viewer", headers=CHINESE)
    page = browser.get(f"/data/runs/{loaded.pk}/").content.decode()
    assert "价格无效：&#x27;=1+1&#x27; 不是十进制数" in page
    assert "invalid price" not in page
    exported = browser.get(f"/data/runs/{loaded.pk}/?format=csv")
    rows = list(csv.reader(io.StringIO(b"".join(exported.streaming_content).decode())))  # type: ignore[attr-defined]
    assert rows[1][3] == "invalid price: '=1+1' is not a decimal number"
    IngestRun.objects.filter(pk=loaded.pk).update(error="no price data: binary content")
    page = browser.get(f"/data/runs/{loaded.pk}/").content.decode()
    assert "不是价格数据：二进制内容" in page
    english = sign_in("engineer").get(f"/data/runs/{loaded.pk}/").content.decode()
    assert "no price data: binary content" in english


def test_a_launch_that_cannot_be_carried_out(sign_in: SignIn) -> None:
    """What we say ourselves; what a provider said stays as it was said."""
    place = target(settings={})
    missing = "The target names no image for us-east-1 and no launch template."
    broken = launch(plan(place), state=LaunchState.FAILED, why="broken", ended_at=NOW,
                    why_values={"message": missing})  # fmt: skip
    away = {"reason": "AWS could not be reached while launching in us-east-1.", "at": "2026-11-02T10:00:00Z"}
    waits = launch(plan(place), why="away", why_values=away, due_at=NOW + timedelta(hours=1))
    trial = {"verdict": "away", "code": "", "message": missing}
    tried = plan(place, trial=trial, tried_at=NOW)
    browser = sign_in("viewer", headers=CHINESE)
    page = browser.get(f"/launches/{broken.pk}/").content.decode()
    assert "无法执行：目标既没有为 us-east-1 指定镜像，也没有指定启动模板。" in page
    page = browser.get(f"/launches/{waits.pk}/").content.decode()
    assert "（在 us-east-1 启动机器时无法连接到 AWS）" in page
    page = browser.get(f"/launches/plans/{tried.pk}/").content.decode()
    assert "目标既没有为 us-east-1 指定镜像，也没有指定启动模板。" in page
    english = sign_in("engineer").get(f"/launches/{broken.pk}/").content.decode()
    assert f"It cannot be carried out: {missing}" in english


def test_settings_of_a_target_that_are_wrong() -> None:
    given = {"executor": "aws", "account": "111122223333", "settings": {"image": "ami-1", "volume_gib": 0}}
    with translation.override("zh-hans"), pytest.raises(ValidationError) as refused:
        target_save(organisation=Organisation.default(), actor=Actor.system("test"), name="x", values=given)
    assert refused.value.message_dict == {
        "settings": [
            "image: 没有这个设置。", "images: 请为每个区域指定镜像，或指定启动模板。",
            "volume_gib: 须为整数 GiB。",
        ]
    }  # fmt: skip


def test_a_question_that_is_refused(sign_in: SignIn, loaded: IngestRun) -> None:
    browser = sign_in("engineer", headers=CHINESE)
    asked = "/run/?hours=4&types=m5.large&regions=us-east-1&splittable=on"
    page = browser.get(asked)
    assert page.status_code == 422
    assert "不可中断的工作不能分段运行。" in page.content.decode()
    body = {"hours": 0, "types": ["m5.large"], "regions": ["us-east-1"], "product": "Linux/UNIX"}
    refused = browser.post("/api/v1/advice/launch", json.dumps(body), content_type="application/json")
    assert refused.status_code == 400
    assert refused.json()["error"]["fields"][0]["message"] == "工作小时数必须大于 0 且不超过 2208。"
