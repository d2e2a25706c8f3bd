"""The client token of a launch call: the same for a repeat, another for anything else."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from typing import Any


def launch_token(job: str, attempt: int, parameters: Mapping[str, Any]) -> str:
    """64 hex digits (the longest that EC2 takes) from job, attempt number and all launch parameters.

    `parameters` hold everything that goes into the call and only JSON's types without fractions, so that a
    value reads back from the database as it was. The order of keys does not count, that of lists does.
    Raises ValueError for an attempt below 1, TypeError for another type.

    >>> launch_token("42", 1, {"type": "c5.xlarge"}) == launch_token("42", 1, {"type": "m5.xlarge"})
    False
    """
    if attempt < 1:
        raise ValueError("attempts count from 1")
    _plain(parameters, "parameters")
    text = json.dumps(
        {"job": job, "attempt": attempt, "parameters": parameters}, sort_keys=True, separators=(",", ":")
    )
    return hashlib.sha256(text.encode()).hexdigest()


def _plain(value: Any, place: str) -> None:
    if isinstance(value, Mapping):
        for key, one in value.items():
            if not isinstance(key, str):
                raise TypeError(f"{place}: a key is no text: {key!r}")
            _plain(one, f"{place}.{key}")
    elif isinstance(value, list):
        for number, one in enumerate(value):
            _plain(one, f"{place}[{number}]")
    elif not (value is None or isinstance(value, str | int)):
        raise TypeError(f"{place}: text, whole number, true, false or null, not {type(value).__name__}")
