"""Sentences of `finops.reasons` about launches: faults of a target's settings, calls that cannot be made."""

from __future__ import annotations

from django.utils.translation import gettext_noop

# In the order of trying, as there: the more particular sentence first.
LAUNCH_SENTENCES = (
    # What is wrong with a setting; its name stands before it.
    gettext_noop("There is no such setting."),
    gettext_noop("RunInstances or CreateFleet."),
    gettext_noop("An object by region or zone."),
    gettext_noop("An object with id or name, and version."),
    gettext_noop("Name an image for each region, or a launch template."),
    gettext_noop("A whole number of GiB."),
    gettext_noop("Availability by zone or region as text of 0 and 1."),
    gettext_noop("Only 0 and 1, a tick each."),
    gettext_noop("At most %(count)s ticks."),
    gettext_noop("Whole seconds, 60 to 86400."),
    gettext_noop("A share from 0 to below 1."),
    gettext_noop("A time with its zone, such as 2026-01-01T00:00:00Z."),
    gettext_noop("One of %(known)s."),
    gettext_noop("Say in `nodes` how the cluster labels Spot nodes."),
    gettext_noop("An object of names and values."),
    gettext_noop("Each class with a priority from 0 to 1000."),
    gettext_noop("A namespace: lower-case letters, digits and -."),
    gettext_noop("A list of tolerations."),
    gettext_noop("The name of a pool."),
    # What a target or its work lacks.
    gettext_noop("No such market: %(text)s."),
    gettext_noop("No price: %(text)s."),
    gettext_noop("User data may have %(count)s bytes."),
    gettext_noop("The target names no image for %(region)s and no launch template."),
    gettext_noop("%(call)s takes user data from its launch template only."),
    gettext_noop("%(call)s needs a launch template."),
    gettext_noop("%(call)s needs one."),
    gettext_noop("The simulated market is not set up: %(known)s."),
    gettext_noop("The executor %(name)s is not installed."),
    gettext_noop("The target %(name)s names no pool of its kind."),
    gettext_noop("The target names no cluster: lower-case letters, digits and -."),
    gettext_noop("The work names no command to run."),
    gettext_noop("The work names no container image."),
    gettext_noop("The pool is not in use."),
    gettext_noop("The pool has no device."),
    gettext_noop("The token is another call's."),
    gettext_noop("%(name)s: this cluster is not allowed for the organisation."),
    gettext_noop(
        "%(name)s: it names no role, and the installation's own credentials are not allowed for it."
    ),
    gettext_noop(
        "The credentials belong to account %(account)s, the target is %(other)s: nothing was launched."
    ),
    gettext_noop("%(count)s of %(wanted)s machines came."),
    gettext_noop("The cluster's credentials have no readable `%(name)s`."),
    gettext_noop("The cluster's `server` is no https:// address."),
    gettext_noop("The cluster's `token` is no token."),
    gettext_noop("The cluster's `%(name)s` is empty."),
    gettext_noop("The cluster could not be reached."),
    gettext_noop("The cluster gave no clear answer while %(inner)s."),
    gettext_noop("The cluster refused %(inner)s: %(code)s: %(text)s"),
    gettext_noop("The name %(name)s is another Job's."),
    gettext_noop("AWS could not be reached while %(inner)s."),
    # What was done meanwhile.
    gettext_noop("trying a launch in %(region)s"),
    gettext_noop("trying a Job"),
    gettext_noop("launching in %(region)s"),
    gettext_noop("looking for machines in %(region)s"),
    gettext_noop("looking for Jobs"),
    gettext_noop("looking for %(key)s"),
    gettext_noop("ending %(machine)s in %(region)s"),
    gettext_noop("ending %(machine)s"),
)
