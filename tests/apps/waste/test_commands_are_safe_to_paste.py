"""Ready commands, pasted as they are: nothing is deleted before what has to be there is there."""

from __future__ import annotations

import subprocess
from datetime import timedelta
from pathlib import Path

import pytest
from django.utils import timezone

from apps.accounts.models import Organisation
from apps.waste.commands import commands
from apps.waste.selectors import listed_of
from apps.waste.services.loading import measures_keep

EVIL = "vol-1'; touch HACKED; echo '"


def found(rule: str, resource: str = "vol-1") -> dict[str, object]:
    return {"rule": rule, "resource": resource, "region": "us-east-1", "facts": {}, "target": {}}


@pytest.mark.parametrize("rule", ["volume-unattached", "volume-of-stopped-instance"])
def test_a_volume_is_deleted_after_its_snapshot_or_not_at_all(rule: str, tmp_path: Path) -> None:
    """The first step fails: none of the others runs."""
    text = commands(found(rule, EVIL))[0]["text"]
    tool = tmp_path / "aws"
    tool.write_text('#!/bin/sh\necho "$2" >> "$LOG"\n[ "$2" != "$FAILS" ]\n')
    tool.chmod(0o755)

    def pasted(fails: str) -> list[str]:
        log = tmp_path / f"log-{fails}"
        given = {"PATH": f"{tmp_path}:/usr/bin:/bin", "LOG": str(log), "FAILS": fails}
        subprocess.run(["/bin/sh", "-c", text], env=given, cwd=tmp_path, check=False)
        return log.read_text().split()

    steps = ["create-snapshot", "wait", "detach-volume", "wait", "delete-volume"]
    if rule == "volume-unattached":
        steps = ["create-snapshot", "wait", "delete-volume"]
    assert pasted("nothing") == steps
    assert pasted("create-snapshot") == ["create-snapshot"]
    assert pasted("wait") == ["create-snapshot", "wait"]
    assert not (tmp_path / "HACKED").exists()


@pytest.mark.django_db
def test_a_list_that_is_older_than_the_judged_days_counts_no_more() -> None:
    """What it calls free may be in use by now."""
    organisation, now = Organisation.default(), timezone.now()
    content = b"resource,kind,attached_to\nvol-1,volume,\n"
    measures_keep(organisation=organisation, content=content, name="x.csv", now=now - timedelta(days=200))
    assert listed_of(organisation, now - timedelta(days=30)) == {}
    measures_keep(organisation=organisation, content=content, name="x.csv", now=now)
    assert set(listed_of(organisation, now - timedelta(days=30))) == {"vol-1"}
