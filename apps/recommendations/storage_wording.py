"""Storage advice in plain sentences: policies, verdicts, problems of rules, the kind's rows."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from django.utils import translation
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from apps.recommendations.kinds import Sentence
from apps.recommendations.wording import joined, money
from finops.engine.storage.lifecycle import Problem
from finops.engine.storage.tiering import DELETE, Policy, Step
from finops.frames.storage import INCOMPLETE, NONCURRENT

# The providers' own names.
CLASS_NAMES = {
    "STANDARD": "Standard",
    "INTELLIGENT_TIERING": "Intelligent-Tiering",
    "STANDARD_IA": "Standard-IA",
    "ONEZONE_IA": "One Zone-IA",
    "GLACIER_IR": "Glacier Instant Retrieval",
    "GLACIER": "Glacier Flexible Retrieval",
    "DEEP_ARCHIVE": "Glacier Deep Archive",
    "EXPRESS_ONEZONE": "Express One Zone",
}


def class_name(name: str) -> str:
    """What the provider calls a class; its code where it has no other name here."""
    return CLASS_NAMES.get(name, name)


def policy_words(policy: Policy, state: str) -> str:
    """ "Glacier Instant Retrieval after 90 days"."""
    if not policy.steps:
        return _("Stay")
    if state == INCOMPLETE:
        days = policy.steps[0].after_days
        return ngettext(
            "Give up unfinished uploads after %(n)d day", "Give up unfinished uploads after %(n)d days", days
        ) % {"n": days}
    parts = [_step_words(step.after_days, step.to) for step in policy.steps]
    told = _(", then ").join(parts)
    return told[:1].upper() + told[1:]


def _step_words(days: int, to: str) -> str:
    if to == DELETE:
        return ngettext("delete after %(n)d day", "delete after %(n)d days", days) % {"n": days}
    if days == 0:
        return _("%(class)s at once") % {"class": class_name(to)}
    return ngettext("%(class)s after %(n)d day", "%(class)s after %(n)d days", days) % {
        "class": class_name(to), "n": days,
    }  # fmt: skip


def state_words(state: str) -> str:
    """Which objects of a prefix."""
    if state == NONCURRENT:
        return _("old versions")
    return _("unfinished uploads") if state == INCOMPLETE else _("current objects")


_REASONS: dict[str, Callable[[], str]] = {
    "saves": lambda: _("Saves %(saving)s in 12 months (90 %% interval %(low)s to %(high)s)."),
    "dearer": lambda: _("Every policy costs more than staying; the nearest, %(policy)s, by %(more)s."),
    "too little": lambda: _("The best policy, %(policy)s, saves only %(saving)s in 12 months."),
    "may lose": lambda: _(
        "%(policy)s saves %(saving)s if reads go on as they did, but may lose: 90 %% interval %(low)s to "
        "%(high)s."
    ),
    "not paid back": lambda: _("%(policy)s has not paid back within 12 months."),
    "life unknown": lambda: _(
        "No object here is old enough to show that %(policy)s pays: it may be deleted before."
    ),
    "no policy": lambda: _("No move from here is allowed."),
    "placed": lambda: _("The rule of this prefix leaves objects of this class where they are."),
    "no reads known": lambda: _(
        "Cannot judge reads: no log covers them. Were nothing read, %(policy)s would save up to %(saving)s."
    ),
    "other prefixes": lambda: _("These are many small prefixes together: no rule can name them."),
    "root": lambda: _("A rule without a prefix would meet every other prefix of the bucket too."),
    "no prices": lambda: _("No storage prices are known for %(place)s: enter them under Storage, Prices."),
    "no sizes": lambda: _("The listing tells no sizes of single objects."),
    "class": lambda: _("No price is known for the class %(place)s."),
}


def reason_words(code: str, values: Mapping[str, str]) -> str:
    """The sentence of a verdict; KeyError for a code without one."""
    return _REASONS[code]() % values


_PROBLEMS: dict[str, Callable[[], str]] = {
    "id taken": lambda: _("Another rule has the name %(rule)s."),
    "too many rules": lambda: _("The bucket would have %(about)s rules; 1,000 are the most."),
    "id too long": lambda: _("The name of the rule is too long."),
    "uploads take a prefix only": lambda: _("A rule for unfinished uploads can name a prefix only."),
    "class twice": lambda: _("The rule moves into a class twice."),
    "too early": lambda: _("The class takes objects only after some days: %(about)s."),
    "no such move": lambda: _("No rule can make this move: %(about)s."),
    "too close": lambda: _("Two moves lie too close together: %(about)s days at least."),
    "deleted before moved": lambda: _("Objects are deleted after %(about)s days, before the move."),
    "versions kept": lambda: _("1 to 100 old versions can be kept, not %(about)s."),
    "does nothing": lambda: _("The rule does nothing."),
    "moves the same": lambda: _("The rule %(about)s moves the same objects."),
    "aborts the same": lambda: _("The rule %(about)s gives up the same uploads already."),
    "deleted early": lambda: _(
        "Another rule deletes the objects before the new class's least days are over: %(about)s days."
    ),
    "deleted on a date": lambda: _("Another rule deletes the objects on a date: %(about)s."),
    "deletes the same": lambda: _("The rule %(about)s deletes the same objects already."),
}


def problem_words(problem: Problem) -> str:
    """The sentence of a problem; KeyError for a code without one."""
    return _PROBLEMS[problem.code]() % {"rule": problem.rule, "about": problem.about}


def worded(document: Mapping[str, Any], language: str) -> Sentence:
    """A recommendation of the kind in the language asked for."""
    with translation.override(language):
        currency = document["currency"]
        policy = _policy_of(document)
        values = {
            "place": f"{document['bucket']}/{document['prefix']}",
            "policy": policy_words(policy, document["state"]),
            "saving": money(float(document["saving"]), currency),
            "low": money(float(document["saving_low"]), currency),
            "high": money(float(document["saving_high"]), currency),
            "one_time": money(float(document["one_time"]), currency),
        }
        if document["deletes"]:
            title = _("Clean up %(place)s: %(policy)s")
        else:
            title = _("Move %(place)s: %(policy)s")
        return Sentence(
            title=title % values,
            text=joined(
                _("Saves %(saving)s in 12 months (90 %% interval %(low)s to %(high)s).") % values,
                _("The move costs %(one_time)s once.") % values if float(document["one_time"]) else "",
            ),
            lines=_lines(document, currency),
        )


def _policy_of(document: Mapping[str, Any]) -> Policy:
    return Policy(tuple(Step(one["after_days"], one["to"]) for one in document["steps"]))


def _lines(document: Mapping[str, Any], currency: str) -> tuple[tuple[str, str], ...]:
    month = document["break_even_month"]
    return (
        (_("Which objects"), state_words(document["state"])),
        (_("Bill of a month now"), money(float(document["current_monthly"]), currency)),
        (_("Bill of a month after the move"), money(float(document["monthly_after"]), currency)),
        (_("Lowest point"), money(float(document["worst_point"]), currency)),
        (_("Paid back"), _("month %(n)s") % {"n": month} if month else _("at once")),
        (_("Way back"), _("none: it deletes") if document["deletes"] else _("the rules as they were")),
    )


def announced(facts: Mapping[str, Any]) -> str:
    """What a rise of cost follows from."""
    return _("Announced by recommendation %(id)s, accepted: %(place)s begins anew in %(class)s.") % {
        "id": facts.get("id", "—"),
        "place": facts.get("place", "—"),
        "class": class_name(str(facts.get("class", ""))) or "—",
    }
