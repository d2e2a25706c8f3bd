"""Documents of advice as text: jsonb orders keys anew. Those stored so far keep the order they have."""

from django.db import migrations

import apps.recommendations.fields


class Migration(migrations.Migration):
    dependencies = [("recommendations", "0001_initial")]
    operations = [
        migrations.AlterField(
            model_name="advice", name="document", field=apps.recommendations.fields.DocumentField()
        ),
    ]
