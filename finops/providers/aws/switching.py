"""Stopping and starting machines of EC2 that are there, found by a tag.

Quirks: a machine of an Auto Scaling group is replaced when it is stopped, a one-time Spot machine and one
whose root volume is its own disk cannot be stopped: they are left and named. A call takes many ids and fails
whole when one of them does not fit; it is then sent id by id. Stopping what is stopped is no error. Source:
the EC2 API reference, StopInstances, StartInstances, read 2026-11.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import boto3

from finops.providers.aws.client import BACK_OFF, dry_run, patiently
from finops.providers.aws.session import Access, account_id, client_config, open_session
from finops.providers.base import PermanentError

ACTIONS = ("ec2:DescribeInstances", "ec2:StartInstances", "ec2:StopInstances")
PAGE, BATCH = 500, 50
START, STOP = "start", "stop"


@dataclass
class Switched:
    """Ids that were switched, those that were as asked for already, and those left with the reason."""

    switched: list[str] = field(default_factory=list)
    already: list[str] = field(default_factory=list)
    left: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Switcher:
    """EC2 of one account and region."""

    session: boto3.Session
    access: Access
    region: str

    def switch(self, action: str, *, tag: tuple[str, str], trial: bool = False) -> Switched:
        """Stop or start what carries the tag; `trial` asks whether it would be allowed and changes nothing.

        Raises TransientError or PermanentError where nothing is known of the whole.
        """
        found = Switched()
        wanted = [row["InstanceId"] for row in self._machines(tag) if self._fits(row, action, found)]
        for start in range(0, len(wanted), BATCH):
            self._batch(action, wanted[start : start + BATCH], found, trial)
        return found

    def _batch(self, action: str, ids: Sequence[str], found: Switched, trial: bool) -> None:
        client = self._client()
        call = client.stop_instances if action == STOP else client.start_instances
        doing = f"{'stopping' if action == STOP else 'starting'} machines in {self.region}"
        arguments = {"InstanceIds": list(ids)}
        try:
            if trial:
                if not dry_run(call, doing=doing, arguments=arguments):
                    found.left |= dict.fromkeys(ids, "not allowed")
                    return
            else:
                patiently(partial(call, **arguments), doing=doing, back_off=BACK_OFF)
        except PermanentError as error:
            if len(ids) == 1:
                found.left[ids[0]] = str(error)
                return
            for one in ids:
                self._batch(action, [one], found, trial)
            return
        found.switched += ids

    @staticmethod
    def _fits(row: Mapping[str, Any], action: str, found: Switched) -> bool:
        """Whether this machine is to be switched; else it is noted why not."""
        machine, state = str(row["InstanceId"]), str((row.get("State") or {}).get("Name"))
        tags = {str(one["Key"]) for one in row.get("Tags") or []}
        if state in {"terminated", "shutting-down"}:
            return False
        if state in ({"stopped", "stopping"} if action == STOP else {"running", "pending"}):
            found.already.append(machine)
            return False
        if "aws:autoscaling:groupName" in tags:
            found.left[machine] = "of an Auto Scaling group, which would replace it"
        elif action == STOP and row.get("InstanceLifecycle") == "spot":
            found.left[machine] = "a Spot machine"
        elif action == STOP and row.get("RootDeviceType") == "instance-store":
            found.left[machine] = "its root volume is its own disk"
        elif state not in {"running", "pending", "stopped"}:
            found.left[machine] = f"it is {state}"
        else:
            return True
        return False

    def _machines(self, tag: tuple[str, str]) -> Iterator[Mapping[str, Any]]:
        client, token, seen = self._client(), "", set[str]()
        filters = [{"Name": f"tag:{tag[0]}", "Values": [tag[1]]}]
        while True:
            asked: dict[str, Any] = {"Filters": filters, "MaxResults": PAGE}
            asked |= {"NextToken": token} if token else {}
            doing = f"looking for machines in {self.region}"
            answer = patiently(partial(client.describe_instances, **asked), doing=doing, back_off=BACK_OFF)
            for group in answer.get("Reservations") or []:
                # A filter takes * and ? as wildcards: only the tag's exact value counts.
                yield from (row for row in group.get("Instances") or [] if _carries(row, tag))
            token = str(answer.get("NextToken") or "")
            if not token:
                return
            if token in seen:
                raise PermanentError(f"AWS repeats a page token in {self.region}: stopped.")
            seen.add(token)

    def _client(self) -> Any:
        endpoint = self.access.endpoint_url or None
        return self.session.client(
            "ec2", region_name=self.region, endpoint_url=endpoint, config=client_config()
        )


def _carries(row: Mapping[str, Any], tag: tuple[str, str]) -> bool:
    return any((one.get("Key"), one.get("Value", "")) == tag for one in row.get("Tags") or [])


def open_switcher(access: Access, *, region: str, account: str = "") -> Switcher:
    """The switcher of a region. Raises PermanentError where the credentials are another account's."""
    session = open_session(access, region=region)
    if account and (found := account_id(session, access, region=region)) != account:
        raise PermanentError(
            f"The credentials belong to account {found}, the target is {account}: nothing was switched."
        )
    return Switcher(session, access, region)


def switching_policy(tag: tuple[str, str]) -> dict[str, Any]:
    """The IAM policy of a role that stops and starts what carries the tag."""
    return {
        "Version": "2012-10-17",
        "Statement": [
            {"Sid": "OffpeakLook", "Effect": "Allow", "Action": "ec2:DescribeInstances", "Resource": "*"},
            {
                "Sid": "OffpeakSwitch",
                "Effect": "Allow",
                "Action": ["ec2:StartInstances", "ec2:StopInstances"],
                "Resource": "*",
                "Condition": {"StringEquals": {f"aws:ResourceTag/{tag[0]}": tag[1]}},
            },
        ],
    }
