"""The demo of a new home: real Spot history, a real bill, and somebody who can sign in to see them."""


def demo_prepare(*, password: str, load: bool = True) -> str:
    """Load the demo data (a repeat changes nothing) and return the login name of the demo user."""
    from django.utils import timezone

    from apps.accounts import services as accounts
    from apps.billing.services.watch import bills_judge
    from apps.ingest import services as ingest
    from apps.ingest.bills.demo import demo_bill_load
    from apps.prices import services as prices

    if load:
        ingest.demo_load()
        demo_bill_load()
        prices.demo_reference_load()
    user = accounts.demo_user_ensure(password=password)
    if load:
        # A new home has its anomalies at once; beat looks after what comes later.
        for membership in user.memberships.all():
            bills_judge(organisation=membership.organisation, now=timezone.now())
    return str(user.get_username())
