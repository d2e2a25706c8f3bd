"""Rules that only the database can keep: events are append-only, team and predecessor are of the same organisation."""

from django.db import migrations

EVENTS = """
CREATE FUNCTION recommendations_event_append_only() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    RAISE EXCEPTION 'the history of a recommendation is append-only: % refused', TG_OP USING ERRCODE = 'restrict_violation';
END $$;
CREATE TRIGGER recommendations_event_append_only BEFORE UPDATE OR DELETE ON recommendations_recommendationevent
    FOR EACH ROW EXECUTE FUNCTION recommendations_event_append_only();
"""
EVENTS_REVERSE = """
DROP TRIGGER recommendations_event_append_only ON recommendations_recommendationevent;
DROP FUNCTION recommendations_event_append_only();
"""
SAME_ORGANISATION = """
CREATE FUNCTION recommendations_same_organisation() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF NEW.team_id IS NOT NULL
       AND (SELECT organisation_id FROM accounts_team WHERE id = NEW.team_id) IS DISTINCT FROM NEW.organisation_id THEN
        RAISE EXCEPTION 'a recommendation belongs to a team of its own organisation only' USING ERRCODE = 'check_violation';
    END IF;
    IF NEW.follows_id IS NOT NULL
       AND (SELECT organisation_id FROM recommendations_recommendation WHERE id = NEW.follows_id)
           IS DISTINCT FROM NEW.organisation_id THEN
        RAISE EXCEPTION 'a recommendation follows one of its own organisation only' USING ERRCODE = 'check_violation';
    END IF;
    RETURN NEW;
END $$;
CREATE TRIGGER recommendations_same_organisation BEFORE INSERT OR UPDATE OF team_id, follows_id, organisation_id
    ON recommendations_recommendation FOR EACH ROW EXECUTE FUNCTION recommendations_same_organisation();
"""
SAME_ORGANISATION_REVERSE = """
DROP TRIGGER recommendations_same_organisation ON recommendations_recommendation;
DROP FUNCTION recommendations_same_organisation();
"""


class Migration(migrations.Migration):
    dependencies = [("recommendations", "0003_recommendations"), ("accounts", "0002_database_rules")]

    operations = [
        migrations.RunSQL(EVENTS, EVENTS_REVERSE),
        migrations.RunSQL(SAME_ORGANISATION, SAME_ORGANISATION_REVERSE),
    ]
