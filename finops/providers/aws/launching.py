"""Machines on EC2: launched once a token, found by their tags, ended.

Quirks: the token of `RunInstances` (64 characters) makes a repeat safe while all parameters stay the same,
else IdempotentParameterMismatch says that something was launched with it; a new machine may not show in
`DescribeInstances` for a while, an ended one shows for about an hour and `StateReason` says why it ended;
instances of a fleet carry the fleet's own token, so they are known by their tags. An instant fleet that got
nothing answers 200 with `Errors`. A lack of capacity comes with status 500 and is no open outcome. Every call
is sent once: what came of it is looked up, by us.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Any

import boto3
from botocore.config import Config
from botocore.exceptions import (
    BotoCoreError,
    ClientError,
    ConnectTimeoutError,
    EndpointConnectionError,
    HTTPClientError,
    NoCredentialsError,
    ParamValidationError,
    PartialCredentialsError,
)
from botocore.parsers import ResponseParserError

from finops.frames.launch_errors import ANY, Meaning, launch_error
from finops.frames.launches import Ending, LaunchCall, Machine, MachineState, Trial, Tried
from finops.providers.aws.client import BACK_OFF, patiently
from finops.providers.aws.errors import (
    DENIED,
    DRY_RUN_ALLOWED,
    THROTTLED,
    UNAVAILABLE,
    error_code,
    translated,
)
from finops.providers.aws.launching_call import FLEET, tag_list
from finops.providers.aws.session import Access, account_id, client_config, open_session
from finops.providers.base import PermanentError, TransientError
from finops.providers.launching import LaunchOutcomeUnknownError, LaunchRefusedError
from finops.redact import redact

ACTIONS = (
    "ec2:CreateFleet",
    "ec2:CreateTags",
    "ec2:DescribeInstances",
    "ec2:RunInstances",
    "ec2:TerminateInstances",
)
PAGE = 500
_ENDINGS = {
    "Server.SpotInstanceTermination": Ending.INTERRUPTED,
    "Server.SpotInstanceShutdown": Ending.INTERRUPTED,
    "Server.InsufficientInstanceCapacity": Ending.INTERRUPTED,
    "Server.InternalError": Ending.INTERRUPTED,
    "Server.ScheduledStop": Ending.INTERRUPTED,
    "Client.InstanceInitiatedShutdown": Ending.DONE,
    "Client.InternalError": Ending.FAILED,
    "Client.UserInitiatedShutdown": Ending.STOPPED,
}


def launching_policy(owner: str) -> dict[str, Any]:
    """The IAM policy of a role that launches, and ends only what carries this installation's tag."""
    tagged = {"StringEquals": {"aws:ResourceTag/offpeak:owner": owner}}
    return {
        "Version": "2012-10-17",
        "Statement": [
            {
                "Sid": "OffpeakLaunch",
                "Effect": "Allow",
                "Action": ["ec2:RunInstances", "ec2:CreateFleet", "ec2:DescribeInstances"],
                "Resource": "*",
            },
            {
                "Sid": "OffpeakTagAtLaunch",
                "Effect": "Allow",
                "Action": "ec2:CreateTags",
                "Resource": "*",
                "Condition": {"StringEquals": {"ec2:CreateAction": ["RunInstances", "CreateFleet"]}},
            },
            {
                "Sid": "OffpeakEndItsOwn",
                "Effect": "Allow",
                "Action": "ec2:TerminateInstances",
                "Resource": "*",
                "Condition": tagged,
            },
        ],
    }


@dataclass(frozen=True)
class AwsExecutor:
    """EC2 of one account and region. `seconds`: how long an answer is waited for."""

    session: boto3.Session
    access: Access
    region: str
    seconds: float = 30.0

    def launch(self, call: LaunchCall, *, now: datetime) -> Machine:
        """As the protocol."""
        api, arguments = call.parameters["api"], self._arguments(call)
        client = self._client(attempts=1)
        send = client.create_fleet if api == FLEET else client.run_instances
        answer = _sent(lambda: send(**arguments, ClientToken=call.token), self.region)
        if api == FLEET:
            return self._of_fleet(answer, call, now)
        rows = answer.get("Instances") or []
        if not rows:
            raise LaunchOutcomeUnknownError("AWS answered the launch without naming a machine.")
        first = machine_of(rows[0], self.region)
        return (
            first if len(rows) == 1 else replace(first, members=tuple(str(one["InstanceId"]) for one in rows))
        )

    def _of_fleet(self, answer: Mapping[str, Any], call: LaunchCall, now: datetime) -> Machine:
        wanted = int(call.parameters["arguments"]["TargetCapacitySpecification"]["TotalTargetCapacity"])
        machine = _of_fleet(answer, call, self.region, now)
        if len(machine.members) < wanted and wanted > 1:
            # Not whole after all: what came is released.
            for one in machine.members:
                self.end(one, now=now)
            raise LaunchRefusedError(
                "InsufficientInstanceCapacity", f"{len(machine.members)} of {wanted} machines came."
            )
        return machine if wanted > 1 else replace(machine, members=())

    def find(self, tags: Mapping[str, str], *, now: datetime) -> list[Machine]:
        """As the protocol. Raises as `errors.translated`."""
        return self._found([{"Name": f"tag:{key}", "Values": [value]} for key, value in sorted(tags.items())])

    def known(self, machine_id: str, token: str, *, now: datetime) -> list[Machine]:
        """As the protocol. Machines of a fleet carry the fleet's own token, so only their ids find them."""
        if machine_id:
            # As a filter: an id that is gone is no error then.
            return self._found([{"Name": "instance-id", "Values": [machine_id]}])
        return self._found([{"Name": "client-token", "Values": [token]}]) if token else []

    def _found(self, filters: list[dict[str, Any]]) -> list[Machine]:
        return [
            machine_of(row, self.region)
            for page in self._pages(filters)
            for group in page.get("Reservations") or []
            for row in group.get("Instances") or []
        ]

    def end(self, machine_id: str, *, now: datetime) -> None:
        """As the protocol."""
        client = self._client()

        def stop() -> None:
            try:
                client.terminate_instances(InstanceIds=[machine_id])
            except ClientError as error:
                if error_code(error) not in {"InvalidInstanceID.NotFound", "InvalidInstanceID.Malformed"}:
                    raise

        patiently(stop, doing=f"ending {machine_id} in {self.region}", back_off=BACK_OFF)

    def tried(self, call: LaunchCall, *, now: datetime) -> Tried:
        """As the protocol; `DryRun`, which checks rights, parameters and what limits EC2 looks at then."""
        api, arguments = call.parameters["api"], self._arguments(call)
        client = self._client()
        send = client.create_fleet if api == FLEET else client.run_instances

        def ask() -> Tried:
            try:
                send(**arguments, ClientToken=call.token, DryRun=True)
            except ClientError as error:
                code = error_code(error)
                if code in DRY_RUN_ALLOWED:
                    return Tried(Trial.ALLOWED)
                if code in THROTTLED or code in UNAVAILABLE:
                    raise
                said = redact(str(error.response.get("Error", {}).get("Message", "")))
                return Tried(_trial_of(code), code, said)
            except ParamValidationError as error:
                return Tried(Trial.PARAMETERS, "ParamValidation", redact(str(error)))
            raise PermanentError("AWS answered a dry run as if it had launched.")

        return patiently(ask, doing=f"trying a launch in {self.region}", back_off=BACK_OFF)

    def _arguments(self, call: LaunchCall) -> dict[str, Any]:
        kinds = ["fleet", "instance"] if call.parameters["api"] == FLEET else ["instance", "volume"]
        # Volumes of a fleet's machines are tagged by its launch template.
        tags = [{"ResourceType": kind, "Tags": tag_list(call.tags)} for kind in kinds]
        return {**call.parameters["arguments"], "TagSpecifications": tags}

    def _pages(self, filters: list[dict[str, Any]]) -> Iterator[Mapping[str, Any]]:
        client, token = self._client(), ""
        seen: set[str] = set()
        while True:
            wanted: dict[str, Any] = {"Filters": filters, "MaxResults": PAGE}
            wanted |= {"NextToken": token} if token else {}
            answer = patiently(
                lambda wanted=wanted: client.describe_instances(**wanted),  # type: ignore[misc]
                doing=f"looking for machines in {self.region}",
                back_off=BACK_OFF,
            )
            yield answer
            token = str(answer.get("NextToken") or "")
            if not token:
                return
            if token in seen:
                raise PermanentError(f"AWS repeats a page token in {self.region}: stopped.")
            seen.add(token)

    def _client(self, attempts: int = 4) -> Any:
        config = client_config(attempts=attempts).merge(Config(read_timeout=self.seconds))
        return self.session.client(
            "ec2", region_name=self.region, endpoint_url=self.access.endpoint_url or None, config=config
        )


def open_executor(access: Access, *, region: str, account: str = "", seconds: float = 30.0) -> AwsExecutor:
    """The executor of a region. Raises PermanentError where the credentials are another account's."""
    session = open_session(access, region=region)
    if account:
        found = account_id(session, access, region=region)
        if found != account:
            raise PermanentError(
                f"The credentials belong to account {found}, the target is {account}: nothing was launched."
            )
    return AwsExecutor(session, access, region, seconds)


def machine_of(row: Mapping[str, Any], region: str) -> Machine:
    """A machine from EC2's own shape."""
    tags = {str(one["Key"]): str(one.get("Value", "")) for one in row.get("Tags") or []}
    running = (row.get("State") or {}).get("Name") in {"pending", "running"}
    fleet = "aws:ec2:fleet-id" in tags
    token = None if fleet else row.get("ClientToken") or None
    code = str((row.get("StateReason") or {}).get("Code") or "")
    return Machine(
        id=str(row["InstanceId"]),
        token=token,
        tags=tags,
        state=MachineState.RUNNING if running else MachineState.ENDED,
        launched_at=_utc(row.get("LaunchTime")),
        ending=None if running else _ENDINGS.get(code, Ending.UNKNOWN),
        ended_at=None if running else _ended_at(str(row.get("StateTransitionReason") or "")),
        region=region,
        instance_type=str(row.get("InstanceType") or ""),
    )


def _of_fleet(answer: Mapping[str, Any], call: LaunchCall, region: str, now: datetime) -> Machine:
    ids = [one for group in answer.get("Instances") or [] for one in group.get("InstanceIds") or []]
    if not ids:
        errors = answer.get("Errors") or []
        if not errors:
            raise LaunchOutcomeUnknownError("AWS answered the fleet without machines and without errors.")
        first = errors[0]
        raise LaunchRefusedError(
            str(first.get("ErrorCode") or "Unknown"), redact(str(first.get("ErrorMessage") or ""))
        )
    names = tuple(str(one) for one in ids)
    return Machine(names[0], None, dict(call.tags), MachineState.RUNNING, now, region=region, members=names)


def _sent(send: Any, region: str) -> Mapping[str, Any]:
    """The answer of a call, sent once. Raises as the protocol; TransientError where nothing was sent."""
    doing = f"launching in {region}"
    try:
        return dict(send())
    except ClientError as error:
        code = error_code(error)
        status = int(error.response.get("ResponseMetadata", {}).get("HTTPStatusCode", 0))
        said = redact(str(error.response.get("Error", {}).get("Message", "")))
        if code not in THROTTLED and _is_open(code, status):
            raise LaunchOutcomeUnknownError(f"AWS says {code or status}: {said}") from error
        raise LaunchRefusedError(code or str(status), said) from error
    except ParamValidationError as error:
        raise LaunchRefusedError("InvalidParameterValue", redact(str(error))) from error
    except (ConnectTimeoutError, EndpointConnectionError) as error:
        # No connection came about, so nothing was sent.
        raise TransientError(f"AWS could not be reached while {doing}.") from error
    except (NoCredentialsError, PartialCredentialsError):
        with translated(doing):
            raise
    except (HTTPClientError, ResponseParserError, BotoCoreError) as error:
        raise LaunchOutcomeUnknownError(f"No clear answer while {doing} ({type(error).__name__}).") from error
    raise AssertionError("every way out is above")


def _trial_of(code: str) -> Trial:
    """What the code of a dry run means, by the table of codes."""
    if code in DENIED:
        return Trial.PERMISSION
    meaning = launch_error("aws", code).meaning
    if meaning in {Meaning.SPOT_LIMIT, Meaning.ON_DEMAND_LIMIT}:
        return Trial.QUOTA
    return Trial.PARAMETERS if meaning is Meaning.WRONG_REQUEST else Trial.OTHER


def _is_open(code: str, status: int) -> bool:
    """Whether a refused call may have taken effect: by the table of codes, else an error of the service."""
    if code in UNAVAILABLE or not code:
        return True
    known = launch_error("aws", code)
    return known.meaning is Meaning.OUTCOME_OPEN if known.code != ANY else status >= 500


def _utc(value: Any) -> datetime:
    if not isinstance(value, datetime):
        raise PermanentError("AWS shows a machine without its launch time.")
    return value.astimezone(UTC)


def _ended_at(text: str) -> datetime | None:
    """The time in "User initiated (2026-11-30 10:00:00 GMT)"; None without one."""
    _, _, inside = text.partition("(")
    try:
        return datetime.strptime(inside.rstrip(")"), "%Y-%m-%d %H:%M:%S %Z").replace(tzinfo=UTC)
    except ValueError:
        return None
