"""Names of accounts as AWS Organizations tells them, with the role of a feed of bills."""

from __future__ import annotations

from apps.accounts.actors import Actor
from apps.accounts.models import Organisation
from apps.billing.models import NameSource
from apps.billing.services.accounts import Named, NamesStored, account_names_store
from apps.ingest.models import Feed
from apps.ingest.services.bucket_feeds import access_of
from finops.providers.aws.organizations import accounts


def names_from_feed(*, feed: Feed, organisation: Organisation, actor: Actor) -> NamesStored:
    """Ask and store. Raises TransientError or PermanentError (DeniedError names the permission)."""
    told = [Named(found.account_id, found.name, found.status) for found in accounts(access_of(feed))]
    return account_names_store(
        organisation=organisation, actor=actor, names=told, source=NameSource.ORGANIZATIONS
    )
