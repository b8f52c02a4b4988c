"""The table."""

from django.db import migrations, models


class Migration(migrations.Migration):
    """In the shards only: members/router.py, allow_migrate."""

    initial = True
    dependencies = []  # noqa: RUF012  a list, as Django writes it
    operations = [  # noqa: RUF012  the same
        migrations.CreateModel(
            name="Member",
            fields=[
                (
                    "name",
                    models.CharField(max_length=100, primary_key=True, serialize=False),
                ),
                ("visits", models.PositiveIntegerField(default=0)),
            ],
        ),
    ]
