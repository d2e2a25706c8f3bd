"""Cost checks in words: the list, and one check in full, from the stored document."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from apps.costchecks.models import CostCheck
from apps.costchecks.wording import (
    evidence,
    kind_word,
    not_offered,
    outcome_reason,
    policy_title,
    verdict_word,
    way,
)
from apps.dashboard import format as fmt
from apps.dashboard.presenters.run import Range, Scale
from apps.dashboard.words import lang
from finops.engine.checks.policies import Outcome, Policy, Verdict
from finops.engine.spend import rounded_parts
from finops.reasons import reason_text

Doc = Mapping[str, Any]
BADGES = {"pass": "pass", "warn": "warn", "deny": "deny", "cannot judge": "unknown"}
SIGNS = {"create": "+", "delete": fmt.MINUS, "update": "~", "replace": "±", "no-op": ""}
MOST_ROWS = 300


@dataclass(frozen=True, slots=True)
class ResourceRow:
    """A resource as it is shown; `findings` are (badge, word, text)."""

    sign: str
    action: str
    address: str
    summary: str
    before: str
    after: str
    delta: str
    findings: list[tuple[str, str, str]]


@dataclass(frozen=True, slots=True)
class PolicyRow:
    """A policy as it is shown."""

    badge: str
    word: str
    title: str
    reason: str
    set_by: str


def badge(verdict: str) -> tuple[str, str]:
    """Class and word of a verdict."""
    return BADGES[verdict], verdict_word(verdict)


def ends(found: Any, currency: str | None, *, sign: bool = False) -> str:
    """`$2,175 to $2,240`, one amount where both ends show the same; "not there"; an em dash for unknown."""
    if found == "absent":
        return _("not there")
    if not isinstance(found, Mapping):
        return fmt.UNKNOWN
    low, high = (fmt.money(found[name], currency or "", sign=sign).strip() for name in ("low", "high"))
    return low if low == high else _("%(low)s to %(high)s") % {"low": low, "high": high}


def table_ends(found: Any, *, sign: bool = False) -> str:
    """The same in a table, under a head with the currency."""
    if found == "absent" or not isinstance(found, Mapping):
        return _("not there") if found == "absent" else fmt.UNKNOWN
    low, high = (fmt.number(found[name], 2, sign=sign) for name in ("low", "high"))
    return low if low == high else _("%(low)s to %(high)s") % {"low": low, "high": high}


def heading(document: Doc) -> str:
    """The verdict, what the change costs, and the limit that decided."""
    verdict, delta, currency = document["verdict"], document["delta"], document["currency"]
    word = {"pass": _("Passes"), "warn": _("Warns"), "deny": _("Denied"), "cannot judge": _("Cannot judge")}[
        verdict
    ]
    if not isinstance(delta, Mapping):
        return _("%(word)s: what this change costs is not known.") % {"word": word}
    if currency is None:
        return _("%(word)s: nothing in this change has a cost.") % {"word": word}
    low, high = Decimal(delta["low"]), Decimal(delta["high"])
    told = {"word": word, "limit": _limit(document)}
    if low == high == 0:
        return _("%(word)s: this change leaves the cost as it is%(limit)s.") % told
    if high <= 0:
        turned = {"low": str(-high), "high": str(-low)}
        told["amount"] = ends(turned, currency)
        return _("%(word)s: this change saves [[%(amount)s]] a month%(limit)s.") % told
    told["amount"] = ends(delta, currency, sign=low < 0)
    if low < 0:
        return _("%(word)s: this change moves the cost by [[%(amount)s]] a month%(limit)s.") % told
    return _("%(word)s: this change adds [[%(amount)s]] a month%(limit)s.") % told


def _limit(document: Doc) -> str:
    """`; the limit is $1,500`, of the first limit in money that decided."""
    for one in document["policies"]:
        decided = one["verdict"] == document["verdict"] and one["verdict"] in ("deny", "warn")
        if decided and one["limit"] and one["currency"]:
            limit = fmt.money(one["limit"], one["currency"])
            return _("; the limit is %(limit)s") % {"limit": limit}
    return ""


def lead(document: Doc) -> str:
    """What is not in the numbers, and the largest cheaper way."""
    parts = []
    if document["alternatives"]:
        best = document["alternatives"][0]
        saving = fmt.money(best["saving"]["expected"], best["currency"])
        parts.append(
            _("%(way)s would save about %(saving)s a month.")
            % {"way": alternative_words(best), "saving": saving}
        )
    if document["incomplete"]:
        parts.append(
            ngettext(
                "%(n)d part has no price and is not in these numbers.",
                "%(n)d parts have no price and are not in these numbers.",
                document["incomplete"],
            )
            % {"n": document["incomplete"]}
        )
    return " ".join(parts) or _("Every part of this change has a price.")


def alternative_words(one: Doc) -> str:
    """`m5.large Spot instead of m5.large on demand`."""
    return _("%(instead)s instead of %(of)s") % {"instead": way(one["instead"]), "of": way(one["of"])}


def kpis(document: Doc) -> list[tuple[str, str, str, bool]]:
    """(label, value, note, whether it breaks a limit)."""
    currency = document["currency"]
    resources = document["resources"]
    there = {name: sum(1 for one in resources if one[name] != "absent") for name in ("before", "after")}
    broken = any(one["verdict"] == "deny" and one["currency"] for one in document["policies"])
    found = []
    for label, name in ((_("Before"), "before"), (_("After"), "after")):
        text = ngettext("%(n)d resource, a month", "%(n)d resources, a month", there[name])
        found.append((label, ends(document[name], currency), text % {"n": there[name]}, False))
    share = document["delta_pct"]
    note = _("no cost before to compare with") if share is None else fmt.percent(share, lang(), sign=True)
    found.append((_("Change"), ends(document["delta"], currency, sign=True), note, broken))
    missing = {part["address"] for part in document["unpriced"]}
    text = ngettext("in %(n)d resource", "in %(n)d resources", len(missing)) % {"n": len(missing)}
    found.append(
        (
            _("Not priced"),
            fmt.number(document["incomplete"]),
            text if missing else _("nothing left out"),
            False,
        )
    )
    return found


def resource_rows(document: Doc) -> list[ResourceRow]:
    """The resources that change, largest first; shown changes add up to the shown total."""
    findings = _findings(document)
    rows = [one for one in document["resources"] if one["action"] != "no-op" or one["address"] in findings]
    rows = rows[:MOST_ROWS]
    exact = [Decimal(one["delta"]["expected"]) for one in rows if _one_amount(one["delta"])]
    shown = iter(rounded_parts(exact)[0])
    made = []
    for one in rows:
        delta = one["delta"]
        text = fmt.number(next(shown), 2, sign=True) if _one_amount(delta) else table_ends(delta, sign=True)
        made.append(
            ResourceRow(
                sign=SIGNS.get(one["action"], ""),
                action=action_word(one["action"]),
                address=one["address"],
                summary=one["summary"],
                before=table_ends(one["before"]),
                after=table_ends(one["after"]),
                delta=text,
                findings=findings.get(one["address"], []),
            )
        )
    return made


def _one_amount(delta: Any) -> bool:
    return isinstance(delta, Mapping) and Decimal(delta["low"]) == Decimal(delta["high"])


def action_word(action: str) -> str:
    """What happens to a resource."""
    return {
        "create": _("new"),
        "delete": _("removed"),
        "update": _("changed"),
        "replace": _("replaced"),
        "no-op": _("stays"),
    }.get(action, action)


def _findings(document: Doc) -> dict[str, list[tuple[str, str, str]]]:
    found: dict[str, list[tuple[str, str, str]]] = {}
    for one in document["policies"]:
        if one["verdict"] == "pass":
            continue
        for address in one["addresses"]:
            found.setdefault(address, []).append((*badge(one["verdict"]), policy_words(one)[0]))
    for part in document["unpriced"]:
        text = _("Not priced: %(why)s") % {"why": reason_text(part["reason"])}
        found.setdefault(part["address"], []).append(("unknown", _("No price"), text))
    return found


def policy_words(one: Doc, currency: str | None = None) -> tuple[str, str]:
    """Title and reason in the reader's language; those of a check of an earlier release as they were told."""
    if "code" not in one:
        return one["title"], one["reason"]
    policy = Policy(
        kind=one["kind"],
        level=Verdict(one["level"]),
        limit=None if one["limit"] is None else Decimal(one["limit"]),
        currency=one["currency"] or "",
        names=tuple(one["names"]),
    )
    found, excess = (None if one[name] is None else Decimal(one[name]) for name in ("found", "excess"))
    addresses = ("",) * one["resources"]
    outcome = Outcome(policy, Verdict(one["verdict"]), one["code"], found, excess, addresses)
    title = policy_title(policy) if one["title_from"] == "kind" else one["title"]
    return title, outcome_reason(outcome, currency)


def policies(document: Doc) -> list[PolicyRow]:
    """The policies, worst first."""
    order = ("deny", "cannot judge", "warn", "pass")
    rows = []
    for one in sorted(document["policies"], key=lambda row: order.index(row["verdict"])):
        title, reason = policy_words(one, document["currency"])
        rows.append(PolicyRow(*badge(one["verdict"]), title, reason, _set_by(one.get("set_by"))))
    return rows


def _set_by(text: str | None) -> str:
    if not text:
        return _("the request")
    if text == "organisation":
        return _("organisation")
    return _("team %(name)s") % {"name": text.removeprefix("team ")}


def policies_title(document: Doc) -> str:
    """`One policy denies, two warn`."""
    count = {name: sum(1 for one in document["policies"] if one["verdict"] == name) for name in BADGES}
    told = [
        (count["deny"], ngettext("%(n)d policy denies", "%(n)d policies deny", count["deny"])),
        (
            count["cannot judge"],
            ngettext("%(n)d cannot be judged", "%(n)d cannot be judged", count["cannot judge"]),
        ),
        (count["warn"], ngettext("%(n)d warns", "%(n)d warn", count["warn"])),
    ]
    parts = [text % {"n": n} for n, text in told if n]
    return ", ".join(parts) or _("Every policy passes")


def changes_title(document: Doc) -> str:
    """The finding of the table: how much of the change is in its largest resource."""
    changed = [one for one in document["resources"] if isinstance(one["delta"], Mapping)]
    sizes = [abs(Decimal(one["delta"]["expected"])) for one in changed]
    total = sum(sizes)
    if not total:
        return _("What changes")
    share = fmt.percent(max(sizes) / total * 100, lang(), decimals=0)
    name = changed[sizes.index(max(sizes))]["address"]
    if len([size for size in sizes if size]) == 1:
        return _("All of the change is in %(name)s") % {"name": name}
    return _("%(name)s is %(share)s of what moves") % {"name": name, "share": share}


def cheaper(document: Doc) -> list[dict[str, Any]]:
    """The cheaper ways on one scale."""
    rows: Sequence[Doc] = document["alternatives"]
    if not rows:
        return []
    values = [float(one["saving"][name]) for one in rows for name in ("low", "expected", "high")]
    scale = Scale(min([0.0, *values]), max([1.0, *values]))
    made = []
    for i, one in enumerate(rows):
        saving = one["saving"]
        low, at, high = (float(saving[name]) for name in ("low", "expected", "high"))
        made.append(
            {
                "title": alternative_words(one),
                "address": one["address"],
                "kind": kind_word(one["kind"]),
                "evidence": evidence(one.get("evidence") or {}),
                "link": (one.get("evidence") or {}).get("link") or "",
                "saving": fmt.number(saving["expected"], 2),
                "interval": fmt.span(saving["low"], saving["high"], lang(), decimals=2) if low < high else "",
                "range": Range(scale.place(0), scale.place(at), scale.place(low), scale.place(high), i == 0),
            }
        )
    return made


def not_cheaper(document: Doc) -> list[tuple[str, str, str, str, str]]:
    """(badge, word, kind, reason, which) of the ways that are not offered; () for a check of an earlier
    release. What cannot be judged comes first.
    """
    rows = sorted(document.get("alternatives_not_offered", []), key=lambda one: one["verdict"])
    made = []
    for one in rows:
        judged = one["verdict"] == "does not save"
        first = one["addresses"][0] if one["addresses"] else ""
        more = one["resources"] - 1
        which = _("%(first)s and %(n)d more") if more else "%(first)s"
        made.append(
            (
                "pass" if judged else "unknown",
                _("Does not save") if judged else _("Cannot judge"),
                kind_word(one["kind"]),
                not_offered(one["code"], one["told"]),
                which % {"first": first, "n": more},
            )
        )
    return made


def list_rows(rows: Sequence[CostCheck]) -> list[dict[str, Any]]:
    """Checks of a list."""
    made = []
    for row in rows:
        kind, word = badge(row.verdict)
        made.append(
            {
                "it": row,
                "badge": kind,
                "word": word,
                "delta": ends(row.summary.get("delta"), row.summary.get("currency"), sign=True),
                "share": row.summary.get("delta_pct"),
                "incomplete": row.summary.get("incomplete") or 0,
            }
        )
    return made


def list_heading(denied: int, count: int) -> str:
    """The answer of the list."""
    if not count:
        return _("No change was checked in the last 30 days.")
    text = ngettext(
        "[[%(denied)d]] of %(n)d check in 30 days was denied.",
        "[[%(denied)d]] of %(n)d checks in 30 days were denied.",
        count,
    )
    return text % {"denied": denied, "n": count}
