"""The client against a live server, and without it: one answer, also from an exported price file."""

from __future__ import annotations

import ast
import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from apps.accounts.actors import Actor
from apps.accounts.models import Organisation
from apps.costchecks.models import CostCheck
from apps.costchecks.services import check_policy_add
from tests.support.pipeline import ROOT, Offpeak
from tests.support.plans import change, plan

NOWHERE = {"OFFPEAK_URL": "http://127.0.0.1:9", "OFFPEAK_KEY": "none"}


def write_plan(folder: Path) -> None:
    disk = {
        "root_block_device": [{"volume_type": "gp2", "volume_size": 8}],
        "tags": {"interruptible": "true"},
    }
    content = plan(
        change("aws_instance.etl", {"instance_type": "c5.4xlarge", **disk}),
        change("aws_ebs_volume.a", {"type": "gp3", "size": 2000}, {"type": "gp3", "size": 1000}),
        change("aws_nat_gateway.n", {}),
        change("aws_sagemaker_endpoint.score", {}),
        change("aws_instance.gone", None, {"instance_type": "m5.xlarge", **disk}),
    )
    (folder / "plan.json").write_bytes(content)
    (folder / "policy.json").write_text(
        '{"max_increase": 40.00, "policies": [{"kind": "region_carbon", "limit": 300}]}'
    )
    (folder / "usage.json").write_text('{"resources": {"aws_nat_gateway.n": {"gib_processed": 0.1}}}')


CHECK = ("check", "plan.json", "--policy", "policy.json", "--usage", "usage.json", "--project", "infra")
# What only the server has, or what is another moment's.
OWN = ("id", "link", "spot_prices_left_out", "alternatives_not_offered")


def without(document: dict[str, Any]) -> dict[str, Any]:
    kept = {name: value for name, value in document.items() if name not in OWN}
    told = {name: document["evidence"][name] for name in ("engine", "later_prices", "input", "prices")}
    ways = [one | {"evidence": one["evidence"] | {"age_hours": None}} for one in document["alternatives"]]
    return {**kept, "alternatives": ways, "evidence": told}


def test_offline_says_what_the_server_says(server: dict[str, str], offpeak: Offpeak, tmp_path: Path) -> None:
    write_plan(tmp_path)
    check_policy_add(
        organisation=Organisation.default(), actor=Actor.system("test"),
        values={"kind": "volume_types", "types": ["gp2"], "level": "deny"},
    )  # fmt: skip
    asked = offpeak(server, *CHECK, "--format", "json")
    assert asked.returncode == 20, asked.stderr
    online = json.loads(asked.stdout)
    assert online["link"].startswith(server["OFFPEAK_URL"])
    made = offpeak(server, "prices", "--output", "prices.json", "--regions", "us-east-1")
    assert made.returncode == 0, made.stderr
    before = CostCheck.objects.count()
    told = offpeak({}, *CHECK, "--offline", "prices.json", "--format", "json")
    assert told.returncode == 20, told.stderr
    offline = json.loads(told.stdout)
    assert without(offline) == without(online)
    elsewhere = [one for one in offline["alternatives_not_offered"] if one["code"] == "needs the server"]
    assert {(one["kind"], one["verdict"]) for one in elsewhere} == {
        (kind, "cannot judge") for kind in ("second-hand", "window", "zone")
    }
    assert not [one for one in online["alternatives_not_offered"] if one["code"] == "needs the server"]
    assert [one["set_by"] for one in offline["policies"]] == ["organisation", None, None]
    assert CostCheck.objects.count() == before
    # What the file does not have is counted, not guessed.
    offpeak(server, "prices", "--output", "empty.json", "--regions", "eu-west-1")
    bare = json.loads(offpeak({}, *CHECK, "--offline", "empty.json", "--format", "json").stdout)
    assert "no price for c5.4xlarge Linux/UNIX in us-east-1" in {one["reason"] for one in bare["unpriced"]}


def test_every_form_in_files_beside_what_is_printed(
    server: dict[str, str], offpeak: Offpeak, tmp_path: Path
) -> None:
    write_plan(tmp_path)
    files = ("markdown=c.md", "junit=j.xml", "sarif=s.json", "json=d.json")
    done = offpeak(server, *CHECK, *(word for one in files for word in ("--output", one)))
    assert done.returncode == 20, done.stderr
    assert done.stdout.startswith("Deny: +")
    comment = (tmp_path / "c.md").read_text()
    document = json.loads((tmp_path / "d.json").read_text())
    assert comment.startswith("<!-- offpeak cost check: infra -->\n")
    assert f"]({document['link']})" in comment
    results = json.loads((tmp_path / "s.json").read_text())["runs"][0]["results"]
    assert {"error", "warning", "note"} == {one["level"] for one in results}
    assert (tmp_path / "j.xml").read_text().startswith("<?xml")


@pytest.mark.parametrize(
    ("words", "code"),
    [
        (("--output", "pdf=x"), 2),
        (("--output", "json"), 2),
        (("--output", "json=no/such/folder"), 2),
        (("--base-ref", "main"), 2),
        (("--team", "data"), 2),
        (("--policy", "wrong.json"), 2),
        (("--policy", "none.json"), 2),
        (("--offline", "plan.json"), 2),
        (("--offline", "none.json"), 2),
    ],
)
def test_wrong_use_offline_never_ends_with_a_verdict(
    words: tuple[str, ...], code: int, offpeak: Offpeak, tmp_path: Path
) -> None:
    (tmp_path / "plan.json").write_bytes(plan())
    (tmp_path / "wrong.json").write_text('{"max_increase": "1,234"}')
    (tmp_path / "prices.json").write_text(EMPTY)
    assert offpeak({}, "check", "plan.json", "--offline", "prices.json").returncode == 0
    done = offpeak({}, "check", "plan.json", "--offline", "prices.json", *words)
    assert (done.returncode, "Traceback" in done.stderr) == (code, False), done.stderr


EMPTY = json.dumps(
    {
        "offpeak_price_file": 1, "at": "2026-11-30T12:00:00Z", "engine": "0.1.0", "team": None,
        "policies": [], "machines": [], "spot": [], "sizes": {},
    }
)  # fmt: skip


@pytest.mark.parametrize("content", ["{", "[]", '{"format_version": "1.0", "resource_changes": 1}', "\xff"])
def test_refused_input_is_3_offline_too(content: str, offpeak: Offpeak, tmp_path: Path) -> None:
    (tmp_path / "plan.json").write_bytes(content.encode("latin-1"))
    (tmp_path / "prices.json").write_text(EMPTY)
    done = offpeak({}, "check", "plan.json", "--offline", "prices.json")
    assert (done.returncode, done.stdout) == (3, "")


def test_the_wheel_takes_along_every_module_that_it_imports() -> None:
    """Every import of ours in what comes along is of what comes along."""
    names = ast.literal_eval(
        (ROOT / "client/setup.py").read_text().split("ENGINE = ", 1)[1].split("\n)\n")[0] + ")"
    )
    files = [path for name in names for path in ([ROOT / name] if name.endswith((".py", ".csv", ".txt")) else
             sorted((ROOT / name).glob("*.py")))]  # fmt: skip
    brought = {str(path.relative_to(ROOT).with_suffix("")).replace(os.sep, ".") for path in files}
    brought |= {name.removesuffix(".__init__") for name in brought}
    missing = set()
    for path in [*files, *(ROOT / "client/offpeak").glob("*.py")]:
        if path.suffix != ".py":
            continue
        for node in ast.walk(ast.parse(path.read_text())):
            if (
                isinstance(node, ast.ImportFrom)
                and node.module
                and node.module.split(".")[0] in ("finops", "apps")
            ):
                missing |= {node.module} - brought
            elif isinstance(node, ast.Import):
                missing |= {
                    alias.name for alias in node.names if alias.name.split(".")[0] in ("finops", "apps")
                }
    assert missing == set()
    there = {path.name for path in (ROOT / "finops/frames/data").iterdir()}
    texts = "".join(path.read_text() for path in files if path.suffix == ".py")
    named = {name for name in re.findall(r'"(\w+\.(?:csv|txt))"', texts) if name in there}
    assert named - {Path(name).name for name in names} == set()


def test_it_needs_neither_django_nor_yaml_to_judge_a_plan(tmp_path: Path) -> None:
    (tmp_path / "plan.json").write_bytes(plan(change("aws_ebs_volume.a", {"type": "gp3", "size": 1000})))
    (tmp_path / "prices.json").write_text(EMPTY)
    program = (
        "import sys\n"
        "for name in ('django', 'yaml', 'rest_framework', 'numpy', 'pandas'): sys.modules[name] = None\n"
        "from offpeak.cli import main\n"
        "main(['check', 'plan.json', '--offline', 'prices.json', '--format', 'markdown'])\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], env={"PYTHONPATH": str(ROOT / "client")}, cwd=tmp_path,
        capture_output=True, text=True, timeout=60, check=False,
    )  # fmt: skip
    assert (done.returncode, done.stderr) == (0, "")
    assert "80.00" in done.stdout
