"""A hash chain over the audit trail, one an organisation, made by the database when a transaction commits.

The trigger is deferred: the lock that puts entries in an order is taken as the last thing of a transaction, after every
row lock, so that no two transactions can wait for each other.
"""

import django.db.models.deletion
import django.db.models.functions.datetime
from django.db import migrations, models

CHAIN = """
CREATE FUNCTION accounts_audit_text(e accounts_auditentry) RETURNS text LANGUAGE sql STABLE AS $$
    SELECT jsonb_build_array(
        e.id, e.organisation_id, to_char(e.at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"'), e.actor_kind, e.actor_id,
        e.actor_label, e.action, e.object_type, e.object_id, e.before, e.after, e.request_id
    )::text
$$;
CREATE FUNCTION accounts_audit_hash(previous text, told text) RETURNS text LANGUAGE sql IMMUTABLE AS $$
    SELECT encode(sha256(convert_to(previous || E'\\n' || told, 'UTF8')), 'hex')
$$;
CREATE FUNCTION accounts_audit_seal() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
    tip record;
BEGIN
    PERFORM pg_advisory_xact_lock(7214, coalesce(NEW.organisation_id, 0)::int);
    SELECT number, hash INTO tip FROM accounts_auditseal
        WHERE organisation_id IS NOT DISTINCT FROM NEW.organisation_id ORDER BY number DESC LIMIT 1;
    INSERT INTO accounts_auditseal (organisation_id, number, entry_id, previous, hash)
    VALUES (
        NEW.organisation_id, coalesce(tip.number, 0) + 1, NEW.id, coalesce(tip.hash, repeat('0', 64)),
        accounts_audit_hash(coalesce(tip.hash, repeat('0', 64)), accounts_audit_text(NEW))
    );
    RETURN NULL;
END $$;
DO $$
DECLARE
    one accounts_auditentry;
    tip record;
BEGIN
    FOR one IN SELECT * FROM accounts_auditentry ORDER BY id LOOP
        SELECT number, hash INTO tip FROM accounts_auditseal
            WHERE organisation_id IS NOT DISTINCT FROM one.organisation_id ORDER BY number DESC LIMIT 1;
        INSERT INTO accounts_auditseal (organisation_id, number, entry_id, previous, hash)
        VALUES (
            one.organisation_id, coalesce(tip.number, 0) + 1, one.id, coalesce(tip.hash, repeat('0', 64)),
            accounts_audit_hash(coalesce(tip.hash, repeat('0', 64)), accounts_audit_text(one))
        );
    END LOOP;
END $$;
CREATE CONSTRAINT TRIGGER accounts_audit_seal AFTER INSERT ON accounts_auditentry
    DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION accounts_audit_seal();
CREATE TRIGGER accounts_auditseal_append_only BEFORE UPDATE OR DELETE ON accounts_auditseal
    FOR EACH ROW EXECUTE FUNCTION accounts_audit_append_only();
"""
CHAIN_REVERSE = """
DROP TRIGGER accounts_auditseal_append_only ON accounts_auditseal;
DROP TRIGGER accounts_audit_seal ON accounts_auditentry;
DROP FUNCTION accounts_audit_seal();
DROP FUNCTION accounts_audit_hash(text, text);
DROP FUNCTION accounts_audit_text(accounts_auditentry);
"""


class Migration(migrations.Migration):
    dependencies = [("accounts", "0003_user_link_serial")]

    operations = [
        migrations.CreateModel(
            name="AuditSeal",
            fields=[
                (
                    "entry",
                    models.OneToOneField(
                        on_delete=django.db.models.deletion.PROTECT,
                        primary_key=True,
                        related_name="seal",
                        serialize=False,
                        to="accounts.auditentry",
                    ),
                ),
                ("number", models.BigIntegerField()),
                ("previous", models.CharField(max_length=64)),
                ("hash", models.CharField(max_length=64)),
                (
                    "organisation",
                    models.ForeignKey(
                        blank=True,
                        null=True,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="+",
                        to="accounts.organisation",
                    ),
                ),
            ],
            options={
                "ordering": ["number"],
                "constraints": [
                    models.UniqueConstraint(
                        fields=("organisation", "number"), name="audit_seal_once", nulls_distinct=False
                    )
                ],
            },
        ),
        migrations.RunSQL(CHAIN, CHAIN_REVERSE),
    ]
