"""Rules that only the database can keep: the audit trail is append-only, a team holds members of its own organisation."""

from django.db import migrations

AUDIT = """
CREATE FUNCTION accounts_audit_append_only() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    RAISE EXCEPTION 'the audit trail is append-only: % refused', TG_OP USING ERRCODE = 'restrict_violation';
END $$;
CREATE TRIGGER accounts_audit_append_only BEFORE UPDATE OR DELETE ON accounts_auditentry
    FOR EACH ROW EXECUTE FUNCTION accounts_audit_append_only();
"""
AUDIT_REVERSE = """
DROP TRIGGER accounts_audit_append_only ON accounts_auditentry;
DROP FUNCTION accounts_audit_append_only();
"""

SAME_ORGANISATION = """
CREATE FUNCTION accounts_same_organisation() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF TG_TABLE_NAME = 'accounts_teammember' THEN
        IF (SELECT organisation_id FROM accounts_team WHERE id = NEW.team_id)
           IS DISTINCT FROM (SELECT organisation_id FROM accounts_membership WHERE id = NEW.membership_id) THEN
            RAISE EXCEPTION 'a team holds members of its own organisation only' USING ERRCODE = 'check_violation';
        END IF;
    ELSIF NEW.team_id IS NOT NULL
          AND (SELECT organisation_id FROM accounts_team WHERE id = NEW.team_id) IS DISTINCT FROM NEW.organisation_id THEN
        RAISE EXCEPTION 'a key belongs to a team of its own organisation only' USING ERRCODE = 'check_violation';
    END IF;
    RETURN NEW;
END $$;
CREATE TRIGGER accounts_teammember_same_organisation BEFORE INSERT OR UPDATE ON accounts_teammember
    FOR EACH ROW EXECUTE FUNCTION accounts_same_organisation();
CREATE TRIGGER accounts_apikey_same_organisation BEFORE INSERT OR UPDATE OF team_id, organisation_id ON accounts_apikey
    FOR EACH ROW EXECUTE FUNCTION accounts_same_organisation();
"""
SAME_ORGANISATION_REVERSE = """
DROP TRIGGER accounts_apikey_same_organisation ON accounts_apikey;
DROP TRIGGER accounts_teammember_same_organisation ON accounts_teammember;
DROP FUNCTION accounts_same_organisation();
"""


class Migration(migrations.Migration):
    dependencies = [("accounts", "0001_initial")]

    operations = [
        migrations.RunSQL(AUDIT, AUDIT_REVERSE),
        migrations.RunSQL(SAME_ORGANISATION, SAME_ORGANISATION_REVERSE),
    ]
