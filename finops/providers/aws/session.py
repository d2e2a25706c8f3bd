"""Who we are to AWS: the environment's default chain, or a role assumed from there with an external id.

Quirks: credentials of an assumed role live for an hour here and are never written down; a local server or a
private endpoint takes the place of every service when `endpoint_url` is given.
"""

from __future__ import annotations

import threading
from dataclasses import dataclass
from functools import cache
from typing import Any

import boto3
import botocore.session
from botocore.config import Config
from botocore.loaders import Loader

from finops.providers.aws.errors import translated

ROLE_SECONDS = 3600
ROLE_SESSION_NAME = "offpeak"
# botocore's own attempts ("standard": jittered exponential back-off up to 20 s between them, on throttling,
# 5xx and broken connections). Longer troubles are met by the caller's retry of TransientError.
ATTEMPTS = 4
CONNECT_SECONDS = 10
READ_SECONDS = 60
# The models are shared between sessions, and the SDK completes them in place as it first reads them.
_MAKING = threading.Lock()


@dataclass(frozen=True)
class Access:
    """How to reach one account: no role = the environment's own credentials."""

    role_arn: str = ""
    external_id: str = ""
    endpoint_url: str = ""


def client_config(*, attempts: int = ATTEMPTS) -> Config:
    """Time limits and retries of every client."""
    return Config(
        retries={"mode": "standard", "total_max_attempts": attempts},
        connect_timeout=CONNECT_SECONDS,
        read_timeout=READ_SECONDS,
        user_agent_extra="offpeak",
    )


@cache
def _models() -> Loader:
    """What the SDK knows of the services, read once per process: EC2's alone takes a tenth of a second."""
    return botocore.session.get_session().get_component("data_loader")


def new_session(**given: Any) -> boto3.Session:
    """`boto3.Session(**given)` that reads no model of a service twice."""
    core = botocore.session.get_session()
    core.register_component("data_loader", _models())
    session = boto3.Session(botocore_session=core, **given)
    paths = _models().search_paths
    paths[:] = dict.fromkeys(paths)  # every session of boto3 adds the same folder
    return session


def open_session(access: Access, *, region: str, base: boto3.Session | None = None) -> boto3.Session:
    """A session of the account; with a role it is assumed now. Raises as `errors.translated`."""
    with translated(f"opening a session in {region}"):
        session = base or new_session(region_name=region)
        if not access.role_arn:
            return session
    with translated(f"taking the role {access.role_arn}"):
        wanted = {
            "RoleArn": access.role_arn,
            "RoleSessionName": ROLE_SESSION_NAME,
            "DurationSeconds": ROLE_SECONDS,
            **({"ExternalId": access.external_id} if access.external_id else {}),
        }
        granted = sts(session, access, region=region).assume_role(**wanted)["Credentials"]
    return new_session(
        aws_access_key_id=granted["AccessKeyId"],
        aws_secret_access_key=granted["SecretAccessKey"],
        aws_session_token=granted["SessionToken"],
        region_name=region,
    )


def client(session: boto3.Session, access: Access, service: Any, *, region: str) -> Any:
    """A client of a service, with our time limits and retries, at the endpoint of `access`."""
    with _MAKING:
        return session.client(
            service, region_name=region, endpoint_url=access.endpoint_url or None, config=client_config()
        )


def sts(session: boto3.Session, access: Access, *, region: str) -> Any:
    """The token service of the region."""
    return client(session, access, "sts", region=region)


def ec2(session: boto3.Session, access: Access, *, region: str) -> Any:
    """The EC2 service of the region."""
    return client(session, access, "ec2", region=region)


def account_id(session: boto3.Session, access: Access, *, region: str) -> str:
    """The twelve digits of the account; the call needs no permission. Raises as `errors.translated`."""
    with translated("asking for the account's number"):
        return str(sts(session, access, region=region).get_caller_identity()["Account"])
