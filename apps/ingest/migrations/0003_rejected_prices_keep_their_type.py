"""Rejected prices keep region and type: advice says "invalid price" of a type that has no other."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("ingest", "0002_feed_external_id")]

    operations = [
        migrations.AddField("rejectedrow", "region", models.CharField(blank=True, max_length=40, null=True)),
        migrations.AddField(
            "rejectedrow", "instance_type", models.CharField(blank=True, max_length=60, null=True)
        ),
        migrations.AddIndex(
            "rejectedrow",
            models.Index(
                fields=["instance_type", "region", "-id"],
                name="rejection_by_type",
                condition=models.Q(instance_type__isnull=False),
            ),
        ),
    ]
