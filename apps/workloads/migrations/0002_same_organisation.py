"""A rule that only the database can keep: a workload belongs to a team of its own organisation."""

from django.db import migrations

FORWARD = """
CREATE FUNCTION workloads_same_organisation() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF NEW.team_id IS NOT NULL
       AND (SELECT organisation_id FROM accounts_team WHERE id = NEW.team_id) IS DISTINCT FROM NEW.organisation_id THEN
        RAISE EXCEPTION 'a workload belongs to a team of its own organisation only' USING ERRCODE = 'check_violation';
    END IF;
    RETURN NEW;
END $$;
CREATE TRIGGER workloads_workload_same_organisation BEFORE INSERT OR UPDATE OF team_id, organisation_id
    ON workloads_workload FOR EACH ROW EXECUTE FUNCTION workloads_same_organisation();
"""
BACKWARD = """
DROP TRIGGER workloads_workload_same_organisation ON workloads_workload;
DROP FUNCTION workloads_same_organisation();
"""


class Migration(migrations.Migration):
    dependencies = [("workloads", "0001_initial"), ("accounts", "0002_database_rules")]

    operations = [migrations.RunSQL(FORWARD, BACKWARD)]
