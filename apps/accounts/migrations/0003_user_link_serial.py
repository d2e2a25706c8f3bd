"""A link to set a password dies when a newer one is made."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("accounts", "0002_database_rules")]
    operations = [
        migrations.AddField(
            model_name="user",
            name="link_serial",
            field=models.PositiveIntegerField(
                default=0,
                editable=False,
                help_text="Counts links to set a password; only the newest works.",
            ),
        ),
    ]
