"""A plan as text for other tools: read back by those tools' own parsers and schemas, and as kept files."""

from __future__ import annotations

import json
import shlex
import shutil
import subprocess
from pathlib import Path
from typing import Any

import botocore.session
import hcl2
import kubernetes_validate
import pytest
import yaml
from botocore.validate import ParamValidator

from apps.launches.exports import FORMATS, plan_export, plan_exports
from apps.launches.models import LaunchPlan
from tests.support.launches import OFFER, ON_DEMAND_OFFER, plan, target

pytestmark = pytest.mark.django_db

KEPT = Path(__file__).parents[3] / "data" / "exports"
NASTY = """Nightly "train" $(touch /tmp/x) `id` ${HOME} %{if} 'x' \\ 训练"""
SCRIPT = "#!/bin/sh\nset -e\necho \"${HOME}\" 'it''s' %{x} \\n $(id)\ncat <<EOF\n\tEOF \nEOF\n"
WORK = {
    "image": "registry.example/train:1",
    "command": ["python", "train.py", "--note", "it's: #1"],
    "gpus": 1,
}
CLASSES = {"low": 0, "high": 500}


def made(name: str = "Nightly training", **changes: Any) -> LaunchPlan:
    """A plan of three machines whose primary key is always the same: texts hold it."""
    place = target(
        settings={"images": {"us-east-1": "ami-1"}, "instance_profile": "worker", "volume_gib": 50}
    )
    job = {"hours": 2.0, "user_data": SCRIPT, "max_price": "0.09", "container": {**WORK, "env": {"A": "yes"}}}
    job |= changes.pop("job", {})
    return plan(place, pk=7, name=name, job=job, count=3, priority=600, **changes)


def cli_arguments(text: str) -> tuple[list[str], dict[str, Any]]:
    """The words that a shell makes of the text, and its JSON."""
    words = shlex.split(text.replace("\\\n", " "))
    return words, json.loads(words[words.index("--cli-input-json") + 1])


def test_the_cli_call_is_one_that_ec2_takes_and_keeps_every_character() -> None:
    text = plan_export(made(NASTY), "aws-cli").text
    words, arguments = cli_arguments(text)
    assert words[:5] == ["aws", "ec2", "run-instances", "--region", "us-east-1"]
    shape = (
        botocore.session.get_session().get_service_model("ec2").operation_model("RunInstances").input_shape
    )
    assert ParamValidator().validate(arguments, shape).generate_report() == ""
    assert arguments["UserData"] == SCRIPT
    assert (arguments["MinCount"], arguments["MaxCount"]) == (3, 3)
    assert len(arguments["ClientToken"]) == 64
    named = {tag["Key"]: tag["Value"] for tag in arguments["TagSpecifications"][0]["Tags"]}
    # EC2 refuses tags with other characters than these.
    assert named == {
        "Name": "Nightly _train_ __touch /tmp/x_ _id_ __HOME_ __if_ _x_ _ 训练",
        "offpeak:plan": "7",
    }
    assert subprocess.run(["bash", "-n"], input=text.encode(), check=False).returncode == 0


def test_a_shell_gives_the_call_the_same_words(tmp_path: Path) -> None:
    text = plan_export(made(NASTY), "aws-cli").text
    fake = tmp_path / "aws"
    fake.write_text('#!/bin/sh\nprintf "%s" "$6"\n')
    fake.chmod(0o700)
    ran = subprocess.run(["bash"], input=text.encode(), env={"PATH": f"{tmp_path}:/bin:/usr/bin"},
                         capture_output=True, check=True)  # fmt: skip
    assert json.loads(ran.stdout)["UserData"] == SCRIPT


def test_the_same_plan_has_the_same_token_and_another_plan_another() -> None:
    one = made()
    first = cli_arguments(plan_export(one, "aws-cli").text)[1]["ClientToken"]
    assert cli_arguments(plan_export(one, "aws-cli").text)[1]["ClientToken"] == first
    one.count = 4
    assert cli_arguments(plan_export(one, "aws-cli").text)[1]["ClientToken"] != first


def test_a_fleet_call_is_one_that_ec2_takes() -> None:
    one = made(job={"user_data": ""})
    one.target.settings = {"call": "CreateFleet", "launch_template": {"name": "worker"}}
    words, arguments = cli_arguments(plan_export(one, "aws-cli").text)
    assert words[2] == "create-fleet"
    shape = botocore.session.get_session().get_service_model("ec2").operation_model("CreateFleet").input_shape
    assert ParamValidator().validate(arguments, shape).generate_report() == ""
    assert arguments["TargetCapacitySpecification"]["TotalTargetCapacity"] == 3
    assert plan_export(one, "terraform").reason.startswith("Terraform starts machines by RunInstances only")


def test_terraform_reads_back_as_it_was_meant() -> None:
    text = plan_export(made(NASTY), "terraform").text
    found = hcl2.loads(text)  # type: ignore[attr-defined]
    [(kind, named)] = found["resource"][0].items()
    [(_name, block)] = named.items()
    assert kind.strip('"') == "aws_instance"
    assert block["count"] == 3
    market = block["instance_market_options"][0]
    assert market["spot_options"][0]["max_price"].strip('"') == "0.09"
    # Every ${ and %{ of the input is written twice: left single, Terraform would evaluate it.
    assert text.count("$${HOME}") == 1
    assert text.count("%%{x}") == 1
    assert "${" not in text.replace("$${", "")
    assert "%{" not in text.replace("%%{", "")


def test_terraform_is_in_the_form_that_its_own_tool_writes() -> None:
    text = plan_export(made(NASTY), "terraform").text
    tool = shutil.which("terraform")
    if tool is None:  # the kept file below was checked with it
        assert text.splitlines()[0] == "terraform {"
        return
    ran = subprocess.run([tool, "fmt", "-"], input=text.encode(), capture_output=True, check=False)
    assert ran.returncode == 0, ran.stderr.decode()
    assert ran.stdout.decode() == text


def test_a_kubernetes_job_fits_the_published_schema() -> None:
    place = target(name="cluster", executor="kubernetes", settings={
        "namespace": "batch", "nodes": "eks", "priority_classes": CLASSES,
        "tolerations": [{"key": "gpu", "operator": "Exists"}],
    })  # fmt: skip
    one = made(NASTY)
    one.target = place
    document = yaml.safe_load(plan_export(one, "kubernetes").text)
    kubernetes_validate.validate(document, "1.31", strict=True)
    spec = document["spec"]
    pod = spec["template"]["spec"]
    assert pod["priorityClassName"] == "high"
    assert pod["nodeSelector"] == {
        "eks.amazonaws.com/capacityType": "SPOT",
        "node.kubernetes.io/instance-type": "m5.large",
        "topology.kubernetes.io/zone": "us-east-1a",
    }
    assert (spec["completions"], spec["activeDeadlineSeconds"], spec["suspend"]) == (3, 28800, False)
    assert pod["containers"][0]["command"] == WORK["command"]
    assert pod["containers"][0]["env"] == [{"name": "A", "value": "yes"}]
    assert document["metadata"]["annotations"]["offpeak.dev/name"] == NASTY


def test_the_schema_would_refuse_a_wrong_job() -> None:
    document = yaml.safe_load(plan_export(made(), "kubernetes").text)
    document["spec"]["completions"] = "three"
    with pytest.raises(kubernetes_validate.ValidationError):
        kubernetes_validate.validate(document, "1.31", strict=True)


def test_a_node_pool_has_the_plans_machines_and_ends_when_empty() -> None:
    document = yaml.safe_load(plan_export(made(), "karpenter").text)
    assert (document["apiVersion"], document["kind"]) == ("karpenter.sh/v1", "NodePool")
    spec = document["spec"]["template"]["spec"]
    assert {one["key"]: one["values"] for one in spec["requirements"]} == {
        "karpenter.sh/capacity-type": ["spot", "on-demand"],
        "node.kubernetes.io/instance-type": ["m5.large"],
        "topology.kubernetes.io/zone": ["us-east-1a"],
    }
    assert document["spec"]["disruption"] == {"consolidationPolicy": "WhenEmpty", "consolidateAfter": "1m"}


def test_a_sky_task_runs_the_same_words() -> None:
    document = yaml.safe_load(plan_export(made(), "skypilot").text)
    assert document["resources"]["infra"] == "aws/us-east-1/us-east-1a"
    assert (document["resources"]["use_spot"], document["num_nodes"]) == (True, 3)
    assert shlex.split(document["run"]) == WORK["command"]
    assert document["envs"] == {"A": "yes"}
    # A number of its own: the next of the sequence may be the one that `made` takes.
    script = plan(target(name="other"), pk=8, job={"user_data": SCRIPT})
    assert yaml.safe_load(plan_export(script, "skypilot").text)["run"] == SCRIPT


def test_what_is_missing_is_said_and_the_rest_is_there() -> None:
    bare = plan(target(settings={}), job={"hours": 2.0})
    said = {one.name: one.reason for one in plan_exports(bare)}
    assert said == {
        "aws-cli": "The target names no image for us-east-1 and no launch template.",
        "terraform": "The target names no image for us-east-1 and no launch template.",
        "karpenter": "",
        "kubernetes": "The work names no container image.",
        "skypilot": "The work says nothing to run: neither a command nor user data.",
    }
    empty = plan(target(name="b"), document={"offers": []})
    assert {one.reason for one in plan_exports(empty)} == {
        "The plan has no offer: there is nothing to launch."
    }


@pytest.mark.parametrize("name", FORMATS)
@pytest.mark.parametrize("market", ["spot", "on-demand"])
def test_the_text_is_the_kept_one(name: str, market: str) -> None:
    offers = [OFFER, ON_DEMAND_OFFER] if market == "spot" else [ON_DEMAND_OFFER]
    found = plan_export(made(document={"offers": offers}), name)
    kept = KEPT / f"{name}-{market}.txt"
    assert found.filename == f"nightly-training.{ {'aws-cli': 'sh', 'terraform': 'tf'}.get(name, 'yaml') }"
    assert found.text == kept.read_text(encoding="utf-8")
