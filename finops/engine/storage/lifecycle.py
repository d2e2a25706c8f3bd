"""Lifecycle rules of a bucket: the rule of a policy, merged with what is there, and what speaks against it.

Rules are dicts as `PutBucketLifecycleConfiguration` takes them. Merging never drops or changes a rule that
somebody else wrote; a rule of ours (its ID begins with `OURS`) gives way to a newer one with the same ID.
Where two rules act on the same objects S3 takes the cheaper action, or the deletion: that is not what was
costed, so that overlaps are conflicts and not left to the service.

Sources: Amazon S3 User Guide, "Lifecycle configuration elements", "Transitioning objects using Amazon S3
Lifecycle", "Conflicting lifecycle rules"; API reference of `LifecycleRule`; read 2026-11. Where the service
and these words differ the service decides: its refusal is kept and shown.
"""

from __future__ import annotations

import copy
import difflib
import hashlib
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date
from itertools import pairwise
from typing import Any

from finops.engine.storage.tiering import DELETE, Policy
from finops.frames.storage import CURRENT, INCOMPLETE, NONCURRENT
from finops.frames.storage_terms import StorageTerms

Rule = dict[str, Any]
OURS = "offpeak-"
MAX_RULES, MAX_ID = 1000, 255
# Between two moves of a rule out of an infrequent class: what its minimum asks for.
LEAST_BETWEEN = 30
MAX_KEPT_VERSIONS = 100
_SIDES = ("Transitions", "Expiration", "NoncurrentVersionTransitions", "NoncurrentVersionExpiration",
          "AbortIncompleteMultipartUpload")  # fmt: skip


@dataclass(frozen=True, slots=True)
class Problem:
    """Something that speaks against a configuration: a code, the rule's ID, and the other rule or value that
    it is about. `blocks`: it must be settled first.
    """

    code: str
    rule: str
    about: str = ""
    blocks: bool = True


@dataclass(frozen=True)
class Plan:
    """A configuration to write: `rules` whole, `added` and `changed` IDs of ours, `kept` those left as they
    are. `before` is what is there; `rollback` what takes it back: None where nothing can (`deletes`).
    `diff`: lines of a unified diff.
    """

    before: tuple[Rule, ...]
    rules: tuple[Rule, ...]
    added: tuple[str, ...]
    changed: tuple[str, ...]
    kept: tuple[str, ...]
    problems: tuple[Problem, ...]
    diff: tuple[str, ...]
    deletes: bool
    rollback: Mapping[str, Any] | None = field(default=None)

    @property
    def blocked(self) -> bool:
        """Whether it may not be written."""
        return any(problem.blocks for problem in self.problems)

    @property
    def nothing(self) -> bool:
        """Whether it is there already."""
        return not self.added and not self.changed


def rule_of(prefix: str, state: str, policy: Policy, *, keep_versions: int | None = None) -> Rule:
    """The rule of a policy for one prefix and state. `keep_versions`: newest old versions that are kept.

    ValueError for a policy without steps.
    """
    if not policy.steps:
        raise ValueError("a policy that leaves everything where it is has no rule")
    rule: Rule = {"ID": rule_id(prefix, state, policy), "Status": "Enabled"}
    rule["Filter"] = _filter(prefix, policy.from_bytes)
    moves = [(step.after_days, step.to) for step in policy.steps if step.to != DELETE]
    end = next((step.after_days for step in policy.steps if step.to == DELETE), None)
    if state == INCOMPLETE:
        if end is not None:
            rule["AbortIncompleteMultipartUpload"] = {"DaysAfterInitiation": end}
        return rule
    kept = {"NewerNoncurrentVersions": keep_versions} if keep_versions else {}
    if state == NONCURRENT:
        if moves:
            rule["NoncurrentVersionTransitions"] = [
                {"NoncurrentDays": max(days, 1), "StorageClass": to, **kept} for days, to in moves
            ]
        if end is not None:
            rule["NoncurrentVersionExpiration"] = {"NoncurrentDays": max(end, 1), **kept}
        return rule
    if moves:
        rule["Transitions"] = [{"Days": days, "StorageClass": to} for days, to in moves]
    if end is not None:
        rule["Expiration"] = {"Days": max(end, 1)}
    return rule


def rule_id(prefix: str, state: str, policy: Policy) -> str:
    """The ID of our rule for a prefix and state: one each, so that a newer one takes its place. A policy
    that deletes has another one than one that moves.
    """
    words = re.sub(r"[^A-Za-z0-9._-]+", "-", prefix).strip("-")[:80] or "all"
    sign = hashlib.sha256(prefix.encode()).hexdigest()[:8]
    verb = "expire" if policy.deletes and len(policy.steps) == 1 else "tier"
    return f"{OURS}{state}-{verb}-{words}-{sign}"


def archive_tiers(prefix: str, *, archive_days: int | None, deep_days: int | None) -> dict[str, Any]:
    """An `IntelligentTieringConfiguration` that opens the archive tiers of Intelligent-Tiering for a prefix.

    ValueError outside of what the service takes: 90 to 730 days for Archive Access, 180 to 730 for Deep.
    """
    tierings = []
    for days, least, tier in ((archive_days, 90, "ARCHIVE_ACCESS"), (deep_days, 180, "DEEP_ARCHIVE_ACCESS")):
        if days is None:
            continue
        if not least <= days <= 730:
            raise ValueError(f"{tier} opens after {least} to 730 days, not {days}")
        tierings.append({"Days": days, "AccessTier": tier})
    if not tierings:
        raise ValueError("no archive tier is asked for")
    found: dict[str, Any] = {
        "Id": f"{OURS}archive-{hashlib.sha256(prefix.encode()).hexdigest()[:8]}",
        "Status": "Enabled",
        "Tierings": tierings,
    }
    if prefix:
        found["Filter"] = {"Prefix": prefix}
    return found


def planned(existing: Sequence[Rule], ours: Sequence[Rule], terms: StorageTerms) -> Plan:
    """The bucket's rules with ours among them, and everything that speaks against that."""
    before = tuple(copy.deepcopy(rule) for rule in existing)
    by_id = {rule.get("ID", ""): rule for rule in before}
    new = {rule["ID"]: copy.deepcopy(rule) for rule in ours}
    changed = [name for name in new if name in by_id and canonical([by_id[name]]) != canonical([new[name]])]
    same = [name for name in new if name in by_id and name not in changed]
    foreign = [name for name in changed if not name.startswith(OURS)]
    rules = [new[rule["ID"]] if rule.get("ID") in changed else rule for rule in before]
    added = [name for name in new if name not in by_id]
    rules += [new[name] for name in added]
    problems = [Problem("id taken", name) for name in foreign]
    if len(rules) > MAX_RULES:
        problems.append(Problem("too many rules", "", str(len(rules))))
    others = [rule for rule in before if rule.get("ID") not in new]
    for name, rule in new.items():
        if name not in same:
            problems += _faults(rule, terms)
            problems += [found for other in others for found in _overlap(rule, other, terms)]
    deletes = any(deletes_of(new[name]) for name in (*added, *changed))
    back = {"Rules": list(before)} if before else {}
    return Plan(
        before=before, rules=tuple(rules), added=tuple(added), changed=tuple(changed),
        kept=tuple(str(rule.get("ID", "")) for rule in before if rule.get("ID") not in changed),
        problems=tuple(problems), diff=tuple(difference(before, rules)), deletes=deletes,
        rollback=None if deletes else back,
    )  # fmt: skip


def deletes_of(rule: Rule) -> bool:
    """Whether a rule deletes objects, old versions or unfinished uploads."""
    return any(rule.get(side) for side in ("Expiration", "NoncurrentVersionExpiration", _SIDES[-1]))


def canonical(rules: Sequence[Rule]) -> str:
    """The same text for configurations that do the same: order of rules and of keys, a prefix in the old
    place or as a filter, and empty parts make no difference.
    """
    return json.dumps(sorted((_normal(rule) for rule in rules), key=_key), sort_keys=True)


def difference(before: Sequence[Rule], after: Sequence[Rule]) -> list[str]:
    """A unified diff of both as JSON."""
    texts = [json.dumps({"Rules": [dict(rule) for rule in rules]}, indent=2, sort_keys=True, default=str)
             for rules in (before, after)]  # fmt: skip
    return list(
        difflib.unified_diff(
            texts[0].splitlines(), texts[1].splitlines(), "there now", "after the change", lineterm="", n=2
        )
    )


def _filter(prefix: str, from_bytes: int) -> dict[str, Any]:
    # "Greater than" leaves out the size itself.
    size = {"ObjectSizeGreaterThan": from_bytes - 1} if from_bytes > 1 else {}
    if prefix and size:
        return {"And": {"Prefix": prefix, **size}}
    return size or {"Prefix": prefix}


def _key(rule: Rule) -> str:
    return json.dumps(rule, sort_keys=True, default=str)


def _normal(rule: Rule) -> Rule:
    found = {name: copy.deepcopy(value) for name, value in rule.items() if value not in (None, [], {})}
    found["Filter"] = _conditions(rule)
    found.pop("Prefix", None)
    for side in ("Transitions", "NoncurrentVersionTransitions"):
        if side in found:
            found[side] = sorted(found[side], key=_key)
    normal: Rule = json.loads(json.dumps(found, sort_keys=True, default=str))
    return normal


def _conditions(rule: Rule) -> dict[str, Any]:
    """The conditions of a filter in one flat dict; a prefix is always among them."""
    given = rule.get("Filter") or {}
    found = {**{name: value for name, value in given.items() if name != "And"}, **(given.get("And") or {})}
    found["Prefix"] = found.get("Prefix") or rule.get("Prefix") or ""
    if "Tag" in found:
        found["Tags"] = [found.pop("Tag")]
    return found


def _faults(rule: Rule, terms: StorageTerms) -> Iterator[Problem]:
    """What the service would refuse in a rule of ours."""
    name = rule["ID"]
    if len(name) > MAX_ID:
        yield Problem("id too long", name)
    conditions = _conditions(rule)
    if rule.get("AbortIncompleteMultipartUpload") and conditions.keys() - {"Prefix"}:
        yield Problem("uploads take a prefix only", name)
    for side, days in (("Transitions", "Days"), ("NoncurrentVersionTransitions", "NoncurrentDays")):
        steps = [(int(step[days]), str(step["StorageClass"])) for step in rule.get(side) or ()]
        yield from _step_faults(name, steps, terms)
        end = (rule.get("Expiration") or {}).get("Days") if days == "Days" else (
            (rule.get("NoncurrentVersionExpiration") or {}).get("NoncurrentDays")
        )  # fmt: skip
        if end is not None and steps and end <= max(steps)[0]:
            yield Problem("deleted before moved", name, str(end))
    kept = (rule.get("NoncurrentVersionExpiration") or {}).get("NewerNoncurrentVersions")
    if kept is not None and not 1 <= int(kept) <= MAX_KEPT_VERSIONS:
        yield Problem("versions kept", name, str(kept))
    if not any(rule.get(side) for side in _SIDES):
        yield Problem("does nothing", name)


def _step_faults(name: str, steps: Sequence[tuple[int, str]], terms: StorageTerms) -> Iterator[Problem]:
    if len({to for _days, to in steps}) < len(steps):
        yield Problem("class twice", name)
    for days, to in steps:
        if days < terms.least_days.get(to, 0):
            yield Problem("too early", name, f"{to} {terms.least_days[to]}")
    ordered = sorted(steps)
    for (early, first), (late, second) in pairwise(ordered):
        if (first, second) not in terms.moves:
            yield Problem("no such move", name, f"{first} {second}")
        least = LEAST_BETWEEN if terms.least_days.get(first) else 1
        if late - early < least:
            yield Problem("too close", name, f"{first} {second} {least}")


def _overlap(rule: Rule, other: Rule, terms: StorageTerms) -> Iterator[Problem]:
    """What another rule does to the same objects. One that is limited by tags may or may not meet them."""
    if other.get("Status") != "Enabled" or not _meet(rule, other):
        return
    name, about = rule["ID"], str(other.get("ID", ""))
    surely = "Tags" not in _conditions(other)
    for side in ("Transitions", "NoncurrentVersionTransitions", "AbortIncompleteMultipartUpload"):
        if rule.get(side) and other.get(side):
            yield Problem("moves the same" if side != _SIDES[-1] else "aborts the same", name, about, surely)
    for moves, days, ends, end in (
        ("Transitions", "Days", "Expiration", "Days"),
        ("NoncurrentVersionTransitions", "NoncurrentDays", "NoncurrentVersionExpiration", "NoncurrentDays"),
    ):
        gone = (other.get(ends) or {}).get(end)
        # From its day on, a date deletes whatever there is, however short a time it lies in its new class.
        if (other.get(ends) or {}).get("Date") is not None and rule.get(moves):
            yield Problem("deleted on a date", name, f"{about} {_date(other[ends]['Date'])}", surely)
        for step in rule.get(moves) or ():
            least = terms.classes[step["StorageClass"]].min_days if gone is not None else 0
            if gone is not None and int(gone) < int(step[days]) + max(least, 1):
                yield Problem("deleted early", name, f"{about} {gone}", surely)
        if rule.get(ends) and other.get(ends):
            yield Problem("deletes the same", name, about, surely)


def _date(value: Any) -> str:
    """The day of a rule's date, which comes as text or as a time."""
    return (value.isoformat() if isinstance(value, date) else str(value))[:10]


def _meet(rule: Rule, other: Rule) -> bool:
    """Whether some object may match both filters."""
    one, two = _conditions(rule), _conditions(other)
    prefixes = one["Prefix"], two["Prefix"]
    if not (prefixes[0].startswith(prefixes[1]) or prefixes[1].startswith(prefixes[0])):
        return False
    low = max(one.get("ObjectSizeGreaterThan", -1), two.get("ObjectSizeGreaterThan", -1))
    high = min(one.get("ObjectSizeLessThan", 1 << 62), two.get("ObjectSizeLessThan", 1 << 62))
    return bool(low + 1 < high)


def state_of(rule: Rule) -> str:
    """Which bytes a rule of ours is about."""
    if rule.get("AbortIncompleteMultipartUpload"):
        return INCOMPLETE
    old = rule.get("NoncurrentVersionTransitions") or rule.get("NoncurrentVersionExpiration")
    return NONCURRENT if old else CURRENT
