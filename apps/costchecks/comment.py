"""A check as a comment on a merge request: Markdown that holds in any forge, cut at the forge's limit.

Totals come first, then policies, then the largest changes; lines are left out whole from the end of the list
and their number is told with a link. The first line is a hidden marker, by which a pipeline finds the comment
it made before and updates it in place. Everything from the plan is escaped and shown as code.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from decimal import Decimal
from typing import Any

from apps.costchecks.wording import amount, interval, verdict_word
from finops.engine.checks.policies import ORDER, Verdict
from finops.engine.spend import rounded_parts
from finops.frames.cost_items import Range
from finops.text.addresses import masked
from finops.words import gettext as _

# Characters of a comment: GitHub 65,536; GitLab 1,000,000; Azure DevOps 150,000; Bitbucket 32,768. From the
# forges' own pages and error messages, read 2026-11. Counted in bytes, which is never fewer.
LIMITS = {"github": 65536, "gitlab": 1_000_000, "azure": 150_000, "bitbucket": 32_768}
MOST_POLICIES = 50
_MARKUP = re.compile(r"([\\`*_{}\[\]()#+!|~])")
_BARS = re.compile(r"(\\*)\|")
_CONTROL = re.compile(r"[\x00-\x1f\x7f\u2028\u2029]+")


def plain(text: str) -> str:
    """Text that no forge takes for markup, a mention or HTML; secrets in addresses are masked."""
    shown = _CONTROL.sub(" ", masked(text))
    shown = _MARKUP.sub(r"\\\1", shown)
    shown = shown.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    # Forges look for names after they have read the entities: a space of no width parts sign and name.
    return shown.replace("@", "&#64;&#8203;")


def code(text: str) -> str:
    """An address as code in a table cell: a backtick cannot end it and a bar cannot end the cell.

    Backslashes before a bar are doubled: two before a bar are one to the forge, and the bar ends the cell.
    """
    shown = _CONTROL.sub(" ", masked(text)).replace("`", "'")
    shown = _BARS.sub(lambda found: found[1] * 2 + r"\|", shown)
    return f"`{shown}`"


def marker(project: str) -> str:
    """The hidden first line."""
    name = re.sub(r"[^A-Za-z0-9._/-]", "", project)
    return f"<!-- offpeak cost check: {name or 'default'} -->"


def comment_markdown(document: Mapping[str, Any], *, forge: str = "github", link: str = "") -> str:
    """The comment, never longer than the forge's limit in bytes."""
    limit = LIMITS[forge]
    head, policies = _head(document), _policies(document)
    tail = _tail(document, link)
    rows = _rows(document)
    # What lies beyond the listed resources may have changed as well: it is left out too, and said.
    beyond = int(document.get("resources_left_out") or 0)
    for count in _counts(len(rows)):
        text = _join([*head, *_judged(policies, MOST_POLICIES)], rows[:count], len(rows) - count + beyond,
                     document, tail)  # fmt: skip
        if len(text.encode()) <= limit:
            return text
    # Policies with long words: the worst come first, so they stay.
    ends = [[*tail], [*_evidence(link)]]
    for end in ends:
        for count in _counts(min(len(policies), MOST_POLICIES)):
            text = _join([*head, *_judged(policies, count)], [], len(rows) + beyond, document, end)
            if len(text.encode()) <= limit:
                return text
    return "\n".join(head) + "\n"


def _counts(count: int) -> list[int]:
    """How many lines to try, most first."""
    return [count - count * step // 64 for step in range(64)] + [0]


def _join(
    head: list[str], rows: list[str], left_out: int, document: Mapping[str, Any], tail: list[str]
) -> str:
    table = [
        "",
        f"| {_('Change')} | {_('Resource')} | {document['currency'] or ''} {_('a month')} |",
        "| --- | --- | ---: |",
        *rows,
    ]
    if left_out:
        table += ["", _("… and %(n)d more, which are in the totals above.") % {"n": left_out}]
    return "\n".join([*head, *(table if rows or left_out else []), *tail]) + "\n"


def _head(document: Mapping[str, Any]) -> list[str]:
    lines = [marker(document.get("project") or ""), f"### {plain(document['sentence'])}", ""]
    sides = [
        f"{name}: {_side(document[key], signed=key == 'delta')}"
        for name, key in ((_("Before"), "before"), (_("After"), "after"), (_("Change"), "delta"))
    ]
    lines.append(f"{' · '.join(sides)} ({document['currency'] or '—'})")
    if document["incomplete"]:
        told = _("Parts without a price, which are not in these numbers: %(n)d")
        lines += ["", f"**{told % {'n': document['incomplete']}}**"]
    return lines


def _policies(document: Mapping[str, Any]) -> list[str]:
    """A line a policy, the worst verdict first."""
    worst_first = sorted(document["policies"], key=lambda p: -ORDER.index(Verdict(p["verdict"])))
    return [
        f"| {verdict_word(p['verdict'])} | {plain(p['title'])} | {plain(p['reason'])} |" for p in worst_first
    ]


def _judged(rows: list[str], count: int) -> list[str]:
    """The table of policies with its first lines, and how many are not in it."""
    if not rows:
        return []
    lines = ["", f"| {_('Verdict')} | {_('Policy')} | {_('Found')} |", "| --- | --- | --- |", *rows[:count]]
    if len(rows) > count:
        lines += ["", _("… and %(n)d more policies; the worst verdict counts.") % {"n": len(rows) - count}]
    return lines


def _side(found: Any, *, signed: bool = False) -> str:
    if isinstance(found, dict):
        return interval(_range(found), signed=signed)
    return _("not there") if found == "absent" else "—"


def _range(found: Mapping[str, str]) -> Range:
    return Range(*(Decimal(found[name]) for name in ("low", "expected", "high")))


def _rows(document: Mapping[str, Any]) -> list[str]:
    """Largest change first; shown amounts add up to the shown total."""
    changed = [
        one
        for one in document["resources"]
        if one["delta"] is None or any(Decimal(value) for value in one["delta"].values())
    ]
    exact = [Decimal(one["delta"]["expected"]) for one in changed if one["delta"]]
    shown = iter(rounded_parts(exact)[0])
    rows = []
    for one in changed:
        cost = amount(next(shown), signed=True) if one["delta"] else _("not priced")
        rows.append(f"| {plain(one['action'])} | {code(one['address'])} {plain(one['summary'])} | {cost} |")
    return rows


def _tail(document: Mapping[str, Any], link: str) -> list[str]:
    lines = []
    cheaper = document["alternatives"][:5]
    if cheaper:
        lines += ["", f"**{_('Cheaper')}**", ""]
        lines += [
            f"- {plain(one['sentence'])}: {amount(Decimal(one['saving']['expected']))} {one['currency']} "
            f"({interval(_range(one['saving']))})"
            for one in cheaper
        ]
    return lines + _evidence(link)


def _evidence(link: str) -> list[str]:
    return ["", f"[{_('Evidence and details')}]({link})"] if link else []
