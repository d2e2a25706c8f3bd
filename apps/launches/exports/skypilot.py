"""A plan as a task of SkyPilot, for `sky launch` or, where it has to outlive a machine, `sky jobs launch`."""

from __future__ import annotations

import shlex
from typing import Any

from apps.launches.exports.documents import dumped
from apps.launches.exports.sheet import Sheet
from finops.providers.base import PermanentError
from finops.providers.kubernetes.jobs import label_value


def skypilot(sheet: Sheet) -> str:
    """One document. Raises PermanentError where the work has nothing to run."""
    offer, plan, container = sheet.offer, sheet.plan, sheet.container
    place = [plan.target.provider, str(offer["region"]), str(offer.get("zone_name") or "")]
    resources: dict[str, Any] = {"infra": "/".join(part for part in place if part)}
    if offer.get("type"):
        resources["instance_type"] = str(offer["type"])
    resources["use_spot"] = sheet.spot
    if image := container.get("image"):
        resources["image_id"] = f"docker:{image}"
    resources["labels"] = {
        key.rpartition(":")[2].lower(): label_value(text)
        for key, text in sheet.tags.items()
        if label_value(text)
    }
    found: dict[str, Any] = {"name": sheet.slug, "num_nodes": plan.count, "resources": resources}
    if environment := container.get("env"):
        found["envs"] = {str(key): str(value) for key, value in environment.items()}
    found["run"] = _run(sheet)
    return dumped(found)


def _run(sheet: Sheet) -> str:
    command = sheet.container.get("command")
    if command:
        words = [*_words(command), *_words(sheet.container.get("args") or [])]
        return command if isinstance(command, str) else shlex.join(words)
    script = str(sheet.job.get("user_data") or "")
    if not script.strip():
        raise PermanentError("The work says nothing to run: neither a command nor user data.")
    return script


def _words(value: Any) -> list[str]:
    return [value] if isinstance(value, str) else [str(one) for one in value]
