"""Why a pool was taken or not, and how help for a queue stands, in the reader's language."""

from __future__ import annotations

from django.utils.translation import gettext as _
from django.utils.translation import gettext_noop

from apps.launches.wording import burst_text
from finops.engine.launches.pool import PoolChoice, Why

# Why `finops.providers.aws.switching` leaves a machine alone; kept in English, told in the reader's language.
LEFT_ALONE = (
    gettext_noop("of an Auto Scaling group, which would replace it"),
    gettext_noop("a Spot machine"),
    gettext_noop("its root volume is its own disk"),
    gettext_noop("not allowed"),
)


def why_pool(one: PoolChoice) -> str:
    """A sentence."""
    words = {
        Why.TAKEN: _("The cheapest that meets every condition."),
        Why.DEARER: _("It would do, but costs more."),
        Why.KIND: _("This kind of pool is not allowed for the work."),
        Why.REGION: _("It is in another region than allowed."),
        Why.SIZE: _("It never has so many units for one job."),
        Why.FULL: _("It has enough units, but they are busy."),
        Why.CURRENCY: _("It costs in another currency."),
        Why.NEVER_DONE: _(
            "The work would not end there: interrupted too often, or no window is long enough."
        ),
        Why.DEADLINE: _("It would end after the deadline."),
        Why.FALLBACK: _("After an interruption no time would be left to repeat the work on safe ground."),
        Why.BUDGET: _("It costs more than the limit."),
    }
    return words[one.why]


def why_no_work(reason: str) -> str:
    """Why a device gets no work now."""
    words = {
        "revoked": _("Its key was revoked."),
        "pool_off": _("Its pool is not in use."),
        "outside_window": _("It is outside of its window."),
        "window_ends": _("Its window ends soon."),
        "in_use": _("Somebody uses it."),
        "nothing_waits": _("No work waits."),
    }
    return words.get(reason, "")


def burst_reason(why: str) -> str:
    """How a queue's rule stands; what went wrong as it was said."""
    if why == "inactive":
        return _("It is switched off: no help is bought, and what there is ends once it is idle.")
    return burst_text(why)


def burst_asks(plan: int, machines: int, high: str | None) -> str:
    """Help that waits for a person's yes; `high` is its worst case, None not known."""
    values = {"plan": plan, "machines": machines, "cost": high}
    if high is None:
        return (
            _("Plan %(plan)s waits for a person. Machines: %(machines)s; their cost is not known.") % values
        )
    return _("Plan %(plan)s waits for a person. Machines: %(machines)s, cost: up to %(cost)s.") % values


def burst_held(launch: int, why: str) -> str:
    """Help that was bought and is not there yet."""
    return _("Launch %(launch)s waits: %(why)s") % {"launch": launch, "why": why}
