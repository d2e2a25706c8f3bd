"""Jobs on a Kubernetes cluster: launched once a token, found by their labels, ended; over the plain REST API.

Quirks: a Job's name is made from the token, so a repeat meets 409 AlreadyExists and finds its own Job.
Labels hold a hash of each tag (values are too narrow for what tags say), annotations the tags themselves. A
Job that is suspended or waits for a node counts as running: it has been asked for. A quota that is used up
comes as 403 Forbidden and is told by its words. Every call is sent once. Lists come in pages. Credentials are
a folder with `server`, `token` and `ca.crt`, as a service account's mount has; they are read for each call,
because tokens are renewed. Source: the Kubernetes API reference and "API Concepts", read 2026-11.
"""

from __future__ import annotations

import hashlib
import http.client
import json
import ssl
import urllib.error
import urllib.request
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from urllib.parse import quote, urlencode, urlsplit

from finops.frames.launches import Ending, LaunchCall, Machine, MachineState, Trial, Tried
from finops.providers.base import PermanentError, TransientError
from finops.providers.kubernetes.jobs import label_name
from finops.providers.launching import LaunchOutcomeUnknownError, LaunchRefusedError
from finops.redact import redact

DOMAIN = "offpeak.dev"
TOKEN = f"{DOMAIN}/token"
PAGE = 500
MOST_BYTES = 64 * 1024 * 1024
_LOOPBACK = {"127.0.0.1", "localhost", "::1"}


@dataclass(frozen=True)
class ClusterAccess:
    """A folder with `server`, `token` and perhaps `ca.crt`."""

    folder: Path

    def server(self) -> str:
        """The address of the API server. Raises PermanentError where it is not fit to carry a token."""
        url = self._read("server").rstrip("/")
        parts = urlsplit(url)
        plain = parts.scheme == "http" and parts.hostname in _LOOPBACK
        if not parts.hostname or not (parts.scheme == "https" or plain) or parts.query or parts.username:
            raise PermanentError("The cluster's `server` is no https:// address.")
        return url

    def token(self) -> str:
        """The token of now."""
        found = self._read("token")
        if not found.isascii() or not found.isprintable():
            raise PermanentError("The cluster's `token` is no token.")
        return found

    def context(self) -> ssl.SSLContext:
        """TLS that trusts the cluster's own authority, where it has one."""
        authority = self.folder / "ca.crt"
        return ssl.create_default_context(cafile=str(authority) if authority.exists() else None)

    def _read(self, name: str) -> str:
        try:
            text = (self.folder / name).read_text(encoding="utf-8").strip()
        except (OSError, UnicodeDecodeError) as error:
            raise PermanentError(f"The cluster's credentials have no readable `{name}`.") from error
        if not text:
            raise PermanentError(f"The cluster's `{name}` is empty.")
        return text


class _NoRedirect(urllib.request.HTTPRedirectHandler):
    """A redirect would carry the token to another address."""

    def redirect_request(self, *args: Any, **kwargs: Any) -> None:
        return None


@dataclass(frozen=True)
class KubernetesExecutor:
    """One namespace of one cluster. `seconds`: how long an answer is waited for."""

    access: ClusterAccess
    namespace: str = "default"
    seconds: float = 30.0

    def launch(self, call: LaunchCall, *, now: datetime) -> Machine:
        """As the protocol; `call.parameters["manifest"]` is the Job."""
        body = tagged(call)
        try:
            answer = self._send("POST", self._jobs(), body)
        except _StatusError as error:
            if error.reason == "AlreadyExists":
                return self._mine(body["metadata"]["name"], call)
            if error.open:
                raise LaunchOutcomeUnknownError(f"The cluster says {error.reason}: {error.said}") from error
            raise LaunchRefusedError(error.reason, error.said) from error
        except _NoAnswerError as error:
            raise LaunchOutcomeUnknownError("No clear answer while launching a Job.") from error
        return machine_of(answer, now)

    def _mine(self, name: str, call: LaunchCall) -> Machine:
        """The Job of this name, where it is this token's. Raises LaunchRefusedError for somebody else's."""
        try:
            found = self._send("GET", f"{self._jobs()}/{quote(name)}")
        except (_StatusError, _NoAnswerError) as error:
            raise LaunchOutcomeUnknownError("A Job of this name exists and could not be read.") from error
        if (found["metadata"].get("annotations") or {}).get(TOKEN) != call.token:
            raise LaunchRefusedError("AlreadyExists", f"The name {name} is another Job's.")
        return machine_of(found, None)

    def find(self, tags: Mapping[str, str], *, now: datetime) -> list[Machine]:
        """As the protocol."""
        selector = ",".join(f"{key}={value}" for key, value in sorted(tag_labels(tags).items()))
        with _plainly("looking for Jobs"):
            return [
                found
                for row in self._pages(selector)
                if _has((found := machine_of(row, now)).tags, tags)  # a hash is short: the tags decide
            ]

    def known(self, machine_id: str, token: str, *, now: datetime) -> list[Machine]:
        """As the protocol; by the id only, since a Job's labels hold no token."""
        namespace, _, name = machine_id.partition("/")
        if not name:
            return []
        with _plainly(f"looking for {name}"):
            try:
                return [machine_of(self._send("GET", f"{self._jobs(namespace)}/{quote(name)}"), now)]
            except _StatusError as error:
                if error.status == 404:
                    return []
                raise

    def end(self, machine_id: str, *, now: datetime) -> None:
        """As the protocol: the Job and its pods go."""
        namespace, _, name = machine_id.partition("/")
        body = {"kind": "DeleteOptions", "apiVersion": "v1", "propagationPolicy": "Background"}
        with _plainly(f"ending {name}"):
            try:
                self._send("DELETE", f"{self._jobs(namespace)}/{quote(name)}", body)
            except _StatusError as error:
                if error.status != 404:
                    raise

    def tried(self, call: LaunchCall, *, now: datetime) -> Tried:
        """As the protocol; a dry run on the server, which also checks quotas and policies."""
        with _plainly("trying a Job"):
            try:
                self._send("POST", f"{self._jobs()}?dryRun=All", tagged(call))
            except _StatusError as error:
                if error.reason == "ExceededQuota":
                    return Tried(Trial.QUOTA, error.reason, error.said)
                verdict = {403: Trial.PERMISSION, 422: Trial.PARAMETERS, 400: Trial.PARAMETERS}.get(
                    error.status
                )
                if verdict is None:
                    raise
                return Tried(verdict, error.reason, error.said)
        return Tried(Trial.ALLOWED)

    def _jobs(self, namespace: str = "") -> str:
        return f"/apis/batch/v1/namespaces/{quote(namespace or self.namespace, safe='')}/jobs"

    def _pages(self, selector: str) -> Iterator[Mapping[str, Any]]:
        token, seen = "", set[str]()
        while True:
            asked = {"labelSelector": selector, "limit": str(PAGE)} | ({"continue": token} if token else {})
            page = self._send("GET", f"{self._jobs()}?{urlencode(asked)}")
            yield from page.get("items") or []
            token = str((page.get("metadata") or {}).get("continue") or "")
            if not token:
                return
            if token in seen:
                raise PermanentError("The cluster repeats a page token: stopped.")
            seen.add(token)

    def _send(self, method: str, path: str, body: Mapping[str, Any] | None = None) -> dict[str, Any]:
        request = urllib.request.Request(  # noqa: S310 - the scheme is checked in `server`
            f"{self.access.server()}{path}",
            method=method,
            data=None if body is None else json.dumps(body).encode(),
            headers={
                "Authorization": f"Bearer {self.access.token()}",
                "Accept": "application/json",
                "Content-Type": "application/json",
            },
        )
        opener = urllib.request.build_opener(
            urllib.request.ProxyHandler({}),
            urllib.request.HTTPSHandler(context=self.access.context()),
            _NoRedirect,
        )
        try:
            with opener.open(request, timeout=self.seconds) as answer:
                found = json.loads(answer.read(MOST_BYTES))
        except urllib.error.HTTPError as error:
            raise _StatusError(error) from None
        except urllib.error.URLError as error:
            if isinstance(error.reason, ConnectionRefusedError | ssl.SSLCertVerificationError):
                raise TransientError("The cluster could not be reached.") from error
            raise _NoAnswerError from error
        except (OSError, http.client.HTTPException, ValueError) as error:
            raise _NoAnswerError from error
        if not isinstance(found, dict):
            raise _NoAnswerError
        return found


class _NoAnswerError(Exception):
    """The call was sent and no readable answer came."""


class _StatusError(Exception):
    """A refusal in the API's own shape."""

    def __init__(self, error: urllib.error.HTTPError) -> None:
        self.status = error.code
        try:
            told = json.loads(error.read(1024 * 1024))
        except (ValueError, OSError):
            told = {}
        told = told if isinstance(told, dict) else {}
        self.said = redact(str(told.get("message") or f"HTTP {error.code}"))
        reason = str(told.get("reason") or error.code)
        quota = reason == "Forbidden" and "exceeded quota" in self.said
        self.reason = "ExceededQuota" if quota else reason
        self.open = error.code >= 500
        super().__init__(self.said)


class _plainly:  # noqa: N801 - reads as a word
    """Refusals and silence of calls that may be sent again, as the errors of every provider."""

    def __init__(self, doing: str) -> None:
        self.doing = doing

    def __enter__(self) -> None:
        return None

    def __exit__(self, kind: Any, error: BaseException | None, trace: Any) -> None:
        if isinstance(error, _NoAnswerError):
            raise TransientError(f"The cluster gave no clear answer while {self.doing}.") from error
        if isinstance(error, _StatusError):
            said = f"The cluster refused {self.doing}: {error.reason}: {error.said}"
            raise (TransientError if error.open or error.status == 429 else PermanentError)(said) from error


def tagged(call: LaunchCall) -> dict[str, Any]:
    """The Job with its name, token and tags."""
    manifest = json.loads(json.dumps(call.parameters["manifest"]))
    metadata = manifest["metadata"]
    metadata["name"] = label_name(str(metadata["name"]), call.token[:12])
    for part in (metadata, manifest["spec"]["template"]["metadata"]):
        part["labels"] = {**part.get("labels", {}), **tag_labels(call.tags)}
    annotations = {f"{DOMAIN}/tag.{number}": f"{key}={value}" for number, (key, value) in
                   enumerate(sorted(call.tags.items()))}  # fmt: skip
    metadata["annotations"] = {**metadata.get("annotations", {}), **annotations, TOKEN: call.token}
    return dict(manifest)


def tag_labels(tags: Mapping[str, str]) -> dict[str, str]:
    """Labels by which a Job is found: a hash of each tag's value under a name made from its key."""
    return {
        f"{DOMAIN}/{label_name(key)}": hashlib.sha256(value.encode()).hexdigest()[:32]
        for key, value in tags.items()
    }


def machine_of(job: Mapping[str, Any], now: datetime | None) -> Machine:
    """A Job as a machine; its id is namespace/name."""
    metadata, status = job["metadata"], job.get("status") or {}
    annotations = metadata.get("annotations") or {}
    tags = dict(
        str(value).split("=", 1)
        for key, value in annotations.items()
        if key.startswith(f"{DOMAIN}/tag.") and "=" in str(value)
    )
    over = next(
        (
            one
            for one in status.get("conditions") or []
            if one.get("type") in {"Complete", "Failed"} and one.get("status") == "True"
        ),
        None,
    )
    ended = None if over is None else _moment(status.get("completionTime") or over.get("lastTransitionTime"))
    launched = _moment(metadata.get("creationTimestamp")) or now
    if launched is None:
        raise PermanentError("The cluster shows a Job without its time.")
    return Machine(
        id=f"{metadata['namespace']}/{metadata['name']}",
        token=annotations.get(TOKEN),
        tags=tags,
        state=MachineState.RUNNING if over is None else MachineState.ENDED,
        launched_at=launched,
        ending=None if over is None else (Ending.DONE if over["type"] == "Complete" else Ending.FAILED),
        ended_at=ended,
        missing=_missing(job),
    )


def _missing(job: Mapping[str, Any]) -> int:
    """Pods that a Job asks for and that neither run nor are done; a suspended Job asks for none."""
    spec, status = job.get("spec") or {}, job.get("status") or {}
    if spec.get("suspend"):
        return 0
    there = int(status.get("ready") or 0) + int(status.get("succeeded") or 0) + int(status.get("failed") or 0)
    return max(0, int(spec.get("parallelism") or 1) - there)


def _has(tags: Mapping[str, str], wanted: Mapping[str, str]) -> bool:
    return all(tags.get(key) == value for key, value in wanted.items())


def _moment(text: Any) -> datetime | None:
    try:
        found = datetime.fromisoformat(str(text).replace("Z", "+00:00"))
    except ValueError:
        return None
    return found.astimezone(UTC) if found.tzinfo is not None else None
