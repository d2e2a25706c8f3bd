"""The GitHub action and the GitLab job: their own steps in bash, against a live server and a small forge."""

from __future__ import annotations

import json
import os
import re
import stat
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

from apps.costchecks.models import CostCheck
from tests.support.pipeline import FORGE_TOKEN, ROOT, Forge
from tests.support.plans import change, plan

ACTION = ROOT / "docs/ci/github/action.yml"
GITLAB = ROOT / "docs/ci/gitlab.yml"


def write_plan(folder: Path, *, volumes: int = 1, gib: int = 1000) -> None:
    rows = [
        change(f"aws_ebs_volume.{'v' * 60}_{i:04d}", {"type": "gp3", "size": gib}) for i in range(volumes)
    ]
    (folder / "plan.json").write_bytes(plan(*rows))


def tools(folder: Path) -> str:
    """A PATH whose `offpeak` is the client of the tree and whose `pip install` does nothing."""
    tools_folder = folder / "tools"
    tools_folder.mkdir(exist_ok=True)
    python = f'#!/bin/sh\nif [ "$2" = pip ]; then exit 0; fi\nexec {sys.executable} "$@"\n'
    client = f'#!/bin/sh\nPYTHONPATH={ROOT / "client"} exec {sys.executable} -m offpeak.cli "$@"\n'
    for name, text in (("python3", python), ("offpeak", client)):
        path = tools_folder / name
        path.write_text(text)
        path.chmod(path.stat().st_mode | stat.S_IXUSR)
    return f"{tools_folder}:{os.environ['PATH']}"


def value(text: str, known: dict[str, str]) -> str:
    """An expression of GitHub with the values that the runner puts in; an unknown one fails."""

    def put(match: re.Match[str]) -> str:
        for name in match[1].split("||"):
            if known[name.strip()]:
                return known[name.strip()]
        return ""

    return re.sub(r"\$\{\{ ([^}]+) \}\}", put, str(text))


def action(folder: Path, server: dict[str, str], forge: Forge, **inputs: str) -> tuple[int, str]:
    """Run the action's steps in their order as for a pull request; the code of the last, and all output."""
    document = yaml.safe_load(ACTION.read_text())
    known = {f"inputs.{name}": str(one.get("default", "")) for name, one in document["inputs"].items()}
    known |= {"inputs.url": server["OFFPEAK_URL"], "inputs.key": server["OFFPEAK_KEY"]}
    known |= {"inputs.plan": "plan.json", "inputs.token": FORGE_TOKEN, "github.head_ref": "pr-7"}
    known |= {"github.ref_name": "7/merge", "github.sha": "9f3c1e7", "github.event_name": "pull_request"}
    known |= {f"inputs.{name.replace('_', '-')}": text for name, text in inputs.items()}
    base = {
        "PATH": tools(folder), "HOME": str(folder), "GITHUB_ACTION_PATH": str(ACTION.parent),
        "GITHUB_OUTPUT": str(folder / "output"), "GITHUB_STEP_SUMMARY": str(folder / "summary"),
        "GITHUB_API_URL": forge.url, "GITHUB_REPOSITORY": "o/r", "GITHUB_REF": "refs/pull/7/merge",
    }  # fmt: skip
    (folder / "output").write_text("")
    said, code = "", 0
    for step in document["runs"]["steps"]:
        assert step["shell"] == "bash"
        if "if" in step:
            assert step["if"] == "${{ inputs.comment == 'true' && github.event_name == 'pull_request' }}"
            if known["inputs.comment"] != "true":
                continue
        env = {name: value(text, known) for name, text in step.get("env", {}).items()}
        # A runner's bash: `bash --noprofile --norc -eo pipefail`.
        done = subprocess.run(
            ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", step["run"]], env={**base, **env},
            cwd=folder, capture_output=True, text=True, timeout=120, check=False,
        )  # fmt: skip
        said, code = said + done.stdout + done.stderr, done.returncode
        for line in (folder / "output").read_text().splitlines():
            name, _is, text = line.partition("=")
            known[f"steps.{step['id']}.outputs.{name}"] = text
        if code:
            break
    return code, said


def test_github_comments_once_and_ends_with_the_verdict(
    server: dict[str, str], forge: Forge, tmp_path: Path
) -> None:
    write_plan(tmp_path)
    (tmp_path / "policy.json").write_text('{"max_increase": "79.99"}')
    # Somebody else's comment with our marker is not ours to fill.
    forge.comments.append(
        {"id": 9, "user": {"login": "mallory"}, "body": "<!-- offpeak cost check: infra/prod -->\nhi"}
    )
    inputs = {"project": "infra/prod", "policy": "policy.json"}
    code, said = action(tmp_path, server, forge, **inputs)
    assert code == 20, said
    assert [one["user"]["login"] for one in forge.comments] == ["mallory", "github-actions[bot]"]
    assert "+80.00" in forge.comments[1]["body"]
    write_plan(tmp_path, gib=100)
    code, said = action(tmp_path, server, forge, **inputs)
    assert code == 0, said
    assert len(forge.comments) == 2
    assert "+8.00" in forge.comments[1]["body"]
    assert forge.comments[0]["body"].endswith("hi")
    row = CostCheck.objects.order_by("-pk")[0]
    assert (row.project, row.ref, row.commit) == ("infra/prod", "pr-7", "9f3c1e7")
    assert f"/checks/{row.pk}/)" in (tmp_path / "summary").read_text()
    assert json.loads((tmp_path / "offpeak.sarif").read_text())["version"] == "2.1.0"
    assert (tmp_path / "offpeak.junit.xml").exists()
    for secret in (server["OFFPEAK_KEY"], FORGE_TOKEN):
        assert secret not in said


@pytest.mark.parametrize("fails", [True, False])
def test_a_comment_that_fails_or_is_long_changes_nothing_about_the_verdict(
    fails: bool, server: dict[str, str], forge: Forge, tmp_path: Path
) -> None:
    forge.fails = fails
    write_plan(tmp_path, volumes=900)
    (tmp_path / "policy.json").write_text('{"max_increase": "1"}')
    code, said = action(tmp_path, server, forge, policy="policy.json")
    assert code == 20, said
    assert ("::warning::" in said) is fails
    assert FORGE_TOKEN not in said
    if not fails:
        (comment,) = forge.comments
        assert "+72,000.00" in comment["body"]
        assert re.search(r"and \d+ more", comment["body"])


def test_no_server_and_no_plan_never_end_with_0(server: dict[str, str], forge: Forge, tmp_path: Path) -> None:
    write_plan(tmp_path)
    gone = {**server, "OFFPEAK_URL": "http://127.0.0.1:9"}
    (tmp_path / "offpeak.md").write_text("<!-- offpeak cost check: default -->\nof yesterday")
    assert action(tmp_path, gone, forge)[0] == 1
    assert action(tmp_path, server, forge, plan="none.json")[0] == 3
    assert action(tmp_path, {**server, "OFFPEAK_KEY": "opk_x_y"}, forge)[0] == 2
    assert forge.comments == []


def gitlab(folder: Path, server: dict[str, str], forge: Forge, **more: str) -> tuple[int, str]:
    """The job's script as a runner gives it to a shell."""
    job: dict[str, Any] = yaml.safe_load(GITLAB.read_text())["offpeak-cost-check"]
    variables = {**job["variables"], "OFFPEAK_PROJECT": "group/infra", "OFFPEAK_CLIENT": "client"}
    env = {
        "PATH": tools(folder), "HOME": str(folder), **variables, **server, "CI_API_V4_URL": forge.url,
        "CI_PROJECT_ID": "5", "CI_MERGE_REQUEST_IID": "7", "CI_COMMIT_SHA": "9f3c1e7",
        "CI_COMMIT_REF_NAME": "x",
        "CI_MERGE_REQUEST_SOURCE_BRANCH_NAME": "feature", "OFFPEAK_GITLAB_TOKEN": FORGE_TOKEN, **more,
    }  # fmt: skip
    script = "\n".join([*job["before_script"], *job["script"]])
    done = subprocess.run(
        ["sh", "-e", "-c", script],
        env=env,
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    return done.returncode, done.stdout + done.stderr


def test_gitlab_comments_once_and_ends_with_the_verdict(
    server: dict[str, str], forge: Forge, tmp_path: Path
) -> None:
    write_plan(tmp_path)
    code, said = gitlab(tmp_path, server, forge)
    assert code == 0, said
    (tmp_path / "policy.json").write_text('{"max_increase": "10"}')
    code, said = gitlab(tmp_path, server, forge, OFFPEAK_POLICY="policy.json", OFFPEAK_STRICT="true")
    assert code == 20, said
    (comment,) = forge.comments
    assert "Deny" in comment["body"]
    assert comment["body"].startswith("<!-- offpeak cost check: group/infra -->\n")
    forge.fails = True
    assert gitlab(tmp_path, server, forge, OFFPEAK_POLICY="policy.json")[0] == 20
    assert gitlab(tmp_path, server, forge, OFFPEAK_GITLAB_TOKEN="")[0] == 0
    job = yaml.safe_load(GITLAB.read_text())["offpeak-cost-check"]
    assert (tmp_path / job["artifacts"]["reports"]["junit"]).exists()
