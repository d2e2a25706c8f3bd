"""Why something was refused, in the reader's language.

Imports store their reasons in English, as the command line and REST give them; pages translate them here, by
the sentence they were made from. A test holds this list against the messages of the code.
"""

from __future__ import annotations

import re
from functools import cache

from django.utils.translation import get_language, gettext_noop
from django.utils.translation import gettext as _

from finops.reasons_launches import LAUNCH_SENTENCES

# In the order of trying: the more particular sentence first. `inner` is a sentence of this list itself.
SENTENCES = (
    gettext_noop("%(inner)s at character %(place)s (line %(line)s)"),
    gettext_noop("%(inner)s counted from byte %(place)s"),
    gettext_noop("archive broken at its first file: %(inner)s"),
    gettext_noop("archive broken at %(name)s: %(inner)s"),
    gettext_noop("zip archive broken: %(inner)s"),
    gettext_noop("invalid price: %(inner)s"),
    gettext_noop("empty"),
    gettext_noop("%(text)s is not a finite number"),
    gettext_noop("%(text)s is negative"),
    gettext_noop("%(text)s has a decimal comma"),
    gettext_noop("%(text)s is not a decimal number"),
    gettext_noop("%(text)s is not above zero"),
    gettext_noop("%(text)s has more than %(count)s decimals"),
    gettext_noop("%(text)s is too large"),
    gettext_noop("missing time"),
    gettext_noop("not an ISO 8601 time: %(text)s"),
    gettext_noop("finer than a microsecond: %(text)s"),
    gettext_noop("finer than a microsecond"),
    gettext_noop("no such time: %(text)s"),
    gettext_noop("time without an offset: %(text)s (state the time zone of the file)"),
    gettext_noop("%(text)s is ambiguous or does not exist in %(zone)s"),
    gettext_noop("no time of a price: before 2000 or after 2099"),
    gettext_noop("missing instance type"),
    gettext_noop("not an instance type: %(text)s"),
    gettext_noop("missing product"),
    gettext_noop("not a price per hour: %(text)s"),
    gettext_noop("missing currency"),
    gettext_noop("not a currency: %(text)s"),
    gettext_noop("missing region"),
    gettext_noop("%(region)s is not %(wanted)s, which was asked for"),
    gettext_noop("missing zone"),
    gettext_noop("the region of zone %(zone)s is not known (name it with --region)"),
    gettext_noop("not a name of a %(what)s: %(text)s"),
    gettext_noop("zone %(zone)s is in %(region)s, not in %(other)s"),
    gettext_noop("conflict: %(new)s takes the place of %(old)s, stored for %(series)s"),
    gettext_noop("conflict: %(new)s where %(old)s is known for %(series)s"),
    gettext_noop("a quote that is opened and not closed in its line"),
    gettext_noop("inside the quotes that row %(row)s opens and does not close"),
    gettext_noop("a carriage return inside the line"),
    gettext_noop("what is left of the term is not told"),
    gettext_noop("not after it was seen"),
    gettext_noop("offer is empty"),
    gettext_noop("the lines add up to more than %(most)s: that cannot be added up to the cent"),
    gettext_noop(
        "one total was given and %(n)s deliveries were found (%(found)s): name the month of each total, "
        "2018-10:USD=123.45, or import them one at a time"
    ),
    gettext_noop("neither second-hand nor new: %(text)s"),
    gettext_noop("neither one year nor three: %(text)s"),
    gettext_noop("neither one year nor three"),
    gettext_noop("no plan of this file tells the region of %(text)s"),
    gettext_noop("no plan %(text)s"),
    gettext_noop("no date of publication"),
    gettext_noop("neither once nor an hour: %(text)s"),
    gettext_noop("no price: once %(text)s, an hour %(other)s"),
    gettext_noop("nothing on offer in it: %(text)s"),
    gettext_noop("no column for what is left: %(text)s"),
    gettext_noop("no whole number: %(text)s"),
    gettext_noop("no number above zero: %(text)s"),
    gettext_noop("no object"),
    gettext_noop("the database could not go on (%(detail)s); nothing was stored"),
    gettext_noop(
        "The database was lost during the import of %(name)s (%(detail)s). An import is stored as a whole"
        " or not at all: start it again when the database is back."
    ),
    gettext_noop("the lake's catalog in the database cannot be reached: %(detail)s"),
    gettext_noop(
        "there is no room left for the lake in %(name)s: nothing was stored; make room and try again"
    ),
    gettext_noop("the lake could not be written: %(detail)s"),
    gettext_noop("larger than %(count)s MiB: import the file of one region"),
    gettext_noop("nothing to read"),
    gettext_noop("no file could be read"),
    gettext_noop("not a price"),
    gettext_noop("the process that did this run ended before it was done; nothing of it was stored"),
    gettext_noop(
        "The credentials belong to account %(account)s, the feed is set up for %(other)s: correct"
        " one of them."
    ),
    gettext_noop("The worker ended before it ordered."),
    gettext_noop("The worker ended while it ordered: the order may have been carried out."),
    gettext_noop("It was not carried out in time."),
    gettext_noop("The payment failed: the reservations are void. Nothing was bought."),
    gettext_noop("The order had no clear answer; its reservations were found."),
    gettext_noop("No reservation came of the order in %(count)s looks. Nothing was bought."),
    gettext_noop(
        "%(count)s reserved instances of this kind are new, %(wanted)s were ordered (%(name)s): say which"
        " came of this order."
    ),
    gettext_noop("Purchase %(found)s of the same was carried out after all. Nothing was bought again."),
    gettext_noop("Buying is switched off for account %(account)s. Nothing was bought."),
    gettext_noop(
        "Only %(count)s of %(wanted)s approvals stand: somebody who approved has lost the role or left."
        " Nothing was bought."
    ),
    gettext_noop("The offer is gone. Nothing was bought."),
    gettext_noop("Only %(count)s of %(wanted)s are still on offer. Nothing was bought."),
    gettext_noop("The order costs %(found)s %(name)s now, above the limit of %(most)s. Nothing was bought."),
    gettext_noop("The offer is not what was approved any more. Nothing was bought."),
    gettext_noop("The offer's remaining term is shorter than what was approved. Nothing was bought."),
    gettext_noop(
        "The account's role may not buy: ec2:PurchaseReservedInstancesOffering is not allowed to it."
        " Nothing was bought."
    ),
    gettext_noop(
        "The credentials belong to account %(account)s, the purchase is for %(other)s: nothing was bought."
    ),
    gettext_noop("The order was sent and no clear answer came (%(detail)s): it may have been carried out."),
    gettext_noop("AWS answered the order without naming a reservation."),
    gettext_noop("ordering in %(region)s"),
    gettext_noop("trying an order in %(region)s"),
    gettext_noop("reading the zones of %(region)s"),
    gettext_noop("reading Spot prices of %(region)s, page %(page)s"),
    gettext_noop("AWS repeats a page token in %(region)s (page %(page)s): stopped."),
    gettext_noop("%(text)s is not the name of a bucket."),
    gettext_noop("%(text)s is not a prefix."),
    gettext_noop(
        "The manifest %(key)s names %(name)s, which is not in %(bucket)s (yet): the delivery is not complete,"
        " or old files were removed."
    ),
    gettext_noop("%(key)s is too large for a manifest."),
    gettext_noop("The manifest %(key)s is no JSON document: %(detail)s."),
    gettext_noop("The manifest %(key)s names no data files (reportKeys, dataFiles)."),
    gettext_noop("The manifest %(key)s names a file of another bucket: %(bucket)s."),
    gettext_noop("The manifest %(key)s names a file outside %(place)s: %(name)s."),
    gettext_noop("More than %(count)s folders below %(place)s: name the prefix of the exports."),
    gettext_noop(
        "AWS does not allow this while %(inner)s: the role needs %(need)s. AWS says %(code)s: %(text)s."
    ),
    gettext_noop("There is no bucket %(bucket)s. Check its name, and that the export writes to it."),
    gettext_noop("The object was replaced while %(inner)s: a newer delivery is being written."),
    gettext_noop("The object is gone while %(inner)s: the delivery is being replaced."),
    gettext_noop(
        "%(key)s has %(size)s MiB, more than the limit of %(count)s MiB (setting BILL_OBJECT_MAX_BYTES)."
    ),
    gettext_noop(
        "The delivery has %(size)s MiB, more than the limit of %(count)s MiB"
        " (setting BILL_DELIVERY_MAX_BYTES)."
    ),
    gettext_noop(
        "The disk of %(name)s has %(free)s MiB free; the delivery needs %(size)s MiB and %(spare)s MiB"
        " to spare."
    ),
    gettext_noop("%(text)s cannot be a file here."),
    gettext_noop("%(key)s came with %(there)s bytes, %(size)s were listed."),
    gettext_noop("%(key)s came with other content than its ETag says."),
    gettext_noop("AWS repeats a page token of daily costs: stopped."),
    gettext_noop("Cost Explorer gives several currencies for %(service)s: %(text)s."),
    gettext_noop("AWS repeats a page token of the organisation's accounts: stopped."),
    gettext_noop("Not tried: a request costs %(amount)s %(currency)s."),
    gettext_noop("opening a session in %(region)s"),
    gettext_noop("taking the role %(role)s"),
    gettext_noop("asking for the account's number"),
    *LAUNCH_SENTENCES,
    gettext_noop("trying %(name)s"),
    gettext_noop("listing s3://%(place)s"),
    gettext_noop("reading daily costs (%(name)s)"),
    gettext_noop("reading the names of the organisation's accounts (%(name)s)"),
    gettext_noop("AWS refused the call while %(inner)s.%(more)s"),
    gettext_noop("AWS limits the rate of calls while %(inner)s.%(more)s"),
    gettext_noop(
        "The AWS credentials expired while %(inner)s. Renew them (or let the service use a role),"
        " and look at the machine's clock if they are new.%(more)s"
    ),
    gettext_noop(
        "AWS does not accept the credentials while %(inner)s. Check which credentials the service"
        " finds, and that the region is enabled for the account.%(more)s"
    ),
    gettext_noop(
        "AWS does not allow this while %(inner)s. Attach the policy that `check_permissions "
        "--print-policy` prints.%(more)s"
    ),
    gettext_noop("AWS is not available while %(inner)s.%(more)s"),
    gettext_noop(
        "No usable AWS credentials while %(inner)s. Give the service a role (instance profile, "
        "task role, environment) or name a role in the feed, then run check_permissions."
    ),
    gettext_noop("AWS could not be reached or its answer was cut short while %(inner)s: %(detail)s."),
    gettext_noop("The call cannot be made while %(inner)s: %(detail)s."),
    gettext_noop(" AWS says %(code)s: %(text)s."),
    gettext_noop(" AWS says %(code)s."),
    gettext_noop("no on-demand price of an instance hour in it: %(text)s"),
    gettext_noop("no on-demand price of an instance hour in it"),
    gettext_noop("no date: the file's name has none; name it with --as-of"),
    gettext_noop("neither JSON nor text in UTF-8"),
    gettext_noop("empty file"),
    gettext_noop("JSON above %(count)s MiB: import the CSV of the same offer"),
    gettext_noop("JSON, but no offer file: it has no products and terms"),
    gettext_noop("no CSV: %(detail)s"),
    gettext_noop("JSON, but no answer of describe-instance-types"),
    gettext_noop("no Spot Advisor file: it has no ranges and spot_advisor"),
    gettext_noop("several JSON documents, no offer file"),
    gettext_noop("cut short"),
    gettext_noop("no JSON"),
    gettext_noop("several kinds of chips: %(text)s"),
    gettext_noop("incomplete entry: %(detail)s"),
    gettext_noop("no known region: %(text)s"),
    gettext_noop("operating system not known: %(text)s"),
    gettext_noop("no band of this index: %(text)s"),
    gettext_noop("a label that states no band: %(text)s"),
    gettext_noop("not a number: %(text)s"),
    gettext_noop("not an EC2 offer: products is no object"),
    gettext_noop("no header with SKU, OfferTermCode and PricePerUnit in the first 50 lines"),
    gettext_noop("not known: %(text)s"),
    gettext_noop("not per hour: %(text)s"),
    gettext_noop("no date that can be told for sure: %(text)s"),
    gettext_noop("no price table: no column for %(text)s"),
    gettext_noop("no column and no price header names the currency"),
    gettext_noop("no date: neither a column nor the file's name has one; name it with --date"),
    gettext_noop("no date: %(text)s"),
    gettext_noop("a name that leads out of the archive"),
    gettext_noop("no such file, folder or pattern"),
    gettext_noop("folder %(name)s cannot be read: %(detail)s"),
    gettext_noop("expands to more than %(count)s bytes"),
    gettext_noop("expands more than %(count)s times"),
    gettext_noop("holds more than %(count)s files"),
    gettext_noop("cannot be read: %(detail)s"),
    gettext_noop("cannot be opened: %(detail)s"),
    gettext_noop("%(kind)s cut short after %(count)s bytes"),
    gettext_noop("%(kind)s broken (%(detail)s) after %(count)s bytes"),
    gettext_noop("cut short after %(count)s bytes"),
    gettext_noop("packed more than %(count)s times over"),
    gettext_noop("a link: links inside a folder are not followed"),
    gettext_noop("a link or device in an archive"),
    gettext_noop("no price data: no column for %(text)s"),
    gettext_noop("two columns for the %(what)s: %(one)s and %(two)s"),
    gettext_noop("no price data: the JSON holds no price rows"),
    gettext_noop("not valid JSON lines"),
    gettext_noop("JSON cut short (after byte %(place)s)"),
    gettext_noop("no price data: no list of prices in the JSON (after byte %(place)s)"),
    gettext_noop("JSON cut short: %(detail)s"),
    gettext_noop("no price data: a JSON document without %(key)s and without price rows"),
    gettext_noop("not UTF-8: byte 0x%(byte)s at position %(place)s (save the file as UTF-8)"),
    gettext_noop("not %(encoding)s: byte 0x%(byte)s at position %(place)s (save the file as UTF-8)"),
    gettext_noop("not valid JSON near byte %(place)s: %(detail)s"),
    gettext_noop("not valid JSON in line %(line)s: %(detail)s"),
    gettext_noop("not valid JSON: %(detail)s"),
    gettext_noop("not a JSON object"),
    gettext_noop("no price data: %(key)s is not a list"),
    gettext_noop("no price data: the file is empty"),
    gettext_noop("%(found)s fields instead of %(wanted)s"),
    gettext_noop("no price data: the first line %(text)s names no known column"),
    gettext_noop("two columns of one name in the header"),
    gettext_noop("does not begin with %(text)s"),
    gettext_noop("no price data: a line of more than 32 MiB"),
    gettext_noop("no price data: the first line %(text)s is no header: %(detail)s"),
    gettext_noop("Parquet broken or cut short: %(detail)s"),
    gettext_noop("a column that holds no plain values: %(detail)s"),
    gettext_noop("Parquet broken after row %(row)s: %(detail)s"),
    gettext_noop("no price data: binary content"),
    gettext_noop("%(text)s can mean %(values)s"),
    gettext_noop("%(text)s is not a number here"),
    gettext_noop("Hours of work must be above 0 and at most %(most)s."),
    gettext_noop("Name at least one region."),
    gettext_noop("The number of instances must be 1 or more."),
    gettext_noop("Name the product, for example Linux/UNIX."),
    gettext_noop("Name instance types, or give a minimum of vCPU, memory or GPUs."),
    gettext_noop("Give instance types or minimum sizes, not both."),
    gettext_noop("Give either slack hours or a deadline."),
    gettext_noop("Slack must be between 0 and %(most)s hours."),
    gettext_noop("Minutes between checkpoints must be above 0 and at most %(most)s."),
    gettext_noop("A restart takes between 0 and 1440 minutes."),
    gettext_noop("Work that may not be interrupted cannot run in pieces."),
    gettext_noop("The amount of data must be 0 GiB or more."),
    gettext_noop("Give both the amount of data and the region where it is."),
    gettext_noop("The discount must be at least 0 %% and below 100 %%."),
    gettext_noop("Interruptions an hour must be 0 or more."),
    gettext_noop("A minimum must be above 0; leave it out if there is none."),
    gettext_noop("The time needs a zone, for example 2020-03-06T09:00:00Z."),
    gettext_noop("The time must be between the years 2000 and 2100."),
    gettext_noop(
        "%(hours)s h of work cannot end by then: the earliest end is %(end)s. Move the deadline "
        "or split the work."
    ),
    gettext_noop("The start may wait at most %(most)s hours."),
    gettext_noop("not a time of day (HH:MM, 00:00 to 24:00): %(text)s"),
    gettext_noop("unknown time zone: %(text)s; write it like Europe/Berlin"),
    gettext_noop("not weekdays: %(text)s"),
    # Why a part of a cost check has no price.
    gettext_noop("no price is known for %(key)s"),
    gettext_noop("no Spot price for %(text)s in %(region)s"),
    gettext_noop("no price for the tenancy %(text)s"),
    gettext_noop("no price for %(text)s in %(region)s"),
    gettext_noop("the price of %(text)s is known up to %(count)s %(unit)s only"),
    gettext_noop("%(key)s: usage %(name)s is not stated"),
    gettext_noop("%(key)s: known only after apply"),
    gettext_noop("%(key)s: marked sensitive"),
    gettext_noop("%(key)s: not stated"),
    gettext_noop("the region is not in the plan; state it in the usage file"),
    gettext_noop("the region is not stated; usage region"),
    gettext_noop("root volume: its size is the image's; state root_volume_gib"),
    gettext_noop("the node's type or region is not stated; usage node_type and region"),
    gettext_noop("how long it runs a month is not stated; usage runs_hours"),
    gettext_noop("the size of %(key)s is not known"),
    gettext_noop("a container requests no cpu or memory"),
    gettext_noop("the class of storage is the cluster's; usage storage_class"),
    gettext_noop("its size is not stated"),
    gettext_noop("its launch template is not in this plan"),
    gettext_noop("the Spot share is known only after apply"),
    gettext_noop("instance_requirements: types are chosen by AWS"),
    gettext_noop("types are chosen at launch; name them"),
    gettext_noop("runs_per_month is not stated"),
    gettext_noop("instances run Linux/UNIX, as a plan does not say what the image holds"),
    gettext_noop("nodes are filled by requests, so a pod costs its share of a node"),
    # Last: it would take what the more particular ones say.
    gettext_noop("reading %(key)s"),
)

_PLACE = re.compile(r"%\\\((\w+)\\\)s")


@cache
def _patterns() -> tuple[tuple[re.Pattern[str], str], ...]:
    """Each sentence as a pattern: what stands for a value takes any text."""
    return tuple(
        (re.compile(_PLACE.sub(r"(?P<\1>.*?)", re.escape(one.replace("%%", "%"))), re.DOTALL), one)
        for one in SENTENCES
    )


def sentence_of(text: str) -> tuple[str, dict[str, str]] | None:
    """The sentence that a reason was made from and its values; None for one that is not of the list."""
    for pattern, sentence in _patterns():
        found = pattern.fullmatch(text)
        if found is not None:
            return sentence, found.groupdict()
    return None


def reason_text(text: str) -> str:
    """The reason in the language in force; as it is where the list does not know it, as in English."""
    if not text or (get_language() or "en").startswith("en"):
        return text
    if "\n" in text:
        return "\n".join(reason_text(line) for line in text.split("\n"))
    found = sentence_of(text)
    if found is None:
        return text
    sentence, values = found
    for nested in ("inner", "more"):
        if nested in values:
            values[nested] = reason_text(values[nested])
    if "what" in values:
        values["what"] = _(values["what"])
    return _(sentence) % values
