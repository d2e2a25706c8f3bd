"""An attempt beside a running machine, whose place it takes."""

from django.db import migrations, models
from django.db.models import F
from django.db.models.functions import Greatest, Now


def none_is_open_beside(apps, schema_editor):
    """The schema before knows one open attempt a launch: machines of the others are one too many there, and
    are ended as such by the next look. What one that ran has cost until now stays a part of its launch's.
    """
    beside = apps.get_model("launches", "Attempt").objects.filter(beside=True)
    beside.filter(state="running").update(
        state="ended", ending="surplus", ended_at=Greatest(F("started_at"), Now()), lost_hours=0.0
    )
    beside.filter(state__in=["prepared", "called", "unknown"]).update(state="refused", code="NotSent")


class Migration(migrations.Migration):
    dependencies = [("launches", "0003_grants_gangs_bursts")]

    operations = [
        migrations.RemoveConstraint(model_name="attempt", name="launch_one_open_attempt"),
        migrations.AddField(model_name="attempt", name="beside", field=models.BooleanField(default=False)),
        migrations.RunPython(migrations.RunPython.noop, none_is_open_beside),
        migrations.AddConstraint(
            model_name="attempt",
            constraint=models.UniqueConstraint(
                condition=models.Q(("state__in", ["prepared", "called", "unknown", "running"])),
                fields=("launch", "beside"),
                name="launch_one_open_attempt",
            ),
        ),
    ]
