"""`manage.py stead_plan NEW`: counts the rows that a new map moves, from which database
to which. With --move, it publishes the map and moves the rows.

NEW is a fleet (.toml, .json), from which the command builds the next map; or a map that
was built on a copy of the current map. Such a copy has its own history, so it needs an
empty directory:

    mkdir next && cp data/members.map next && stead apply --max-move 5% fleet.toml next/members.map

--move keeps the current map as STEAD_MAP_BEFORE, publishes the new one, waits until
requests that began with the old one have ended, moves the rows, waits again, and
removes STEAD_MAP_BEFORE. members/places.py has the code for readers. If the command is
interrupted at any point, it continues when it is called again.
"""

import time
from collections import Counter
from pathlib import Path

import stead
from django.conf import settings
from django.core.management.base import BaseCommand, CommandError
from django.db import transaction

from members.models import Member
from members.router import REST

BATCH = 100  # rows per transaction; the old place is locked during the transaction
SHARDS = [name for name in settings.DATABASES if name != REST]


class Command(BaseCommand):
    """The command."""

    help = "How many rows a new map moves; with --move they are moved."

    def add_arguments(self, parser):
        parser.add_argument(
            "new", metavar="NEW", type=Path, help="a fleet file, or the next map"
        )
        parser.add_argument(
            "--move", action="store_true", help="publish the map and move the rows"
        )
        parser.add_argument(
            "--most",
            type=int,
            default=10_000,
            help="move nothing if more rows would move (default: %(default)s)",
        )
        parser.add_argument(
            "--grace",
            type=float,
            default=30,
            help=(
                "seconds after which a request has surely ended: gunicorn's --timeout "
                "(default: %(default)s)"
            ),
        )

    def handle(self, *, new, move, most, grace, **_):
        try:
            now = stead.Map.open(settings.STEAD_MAP)
            new = next_map(now, new)
            fraction = stead.Plan.between(now, new).fraction
        except stead.Error as error:
            raise CommandError(error) from error
        unknown = sorted({node.name for node in new.nodes} - set(SHARDS))
        if unknown:
            raise CommandError(
                f"not in DATABASES: {', '.join(unknown)}; add and migrate them first"
            )
        rows = misplaced(new)
        self.stdout.write(
            f"epoch {now.epoch} -> {new.epoch}: {fraction:.6%} of all keys, "
            f"{sum(map(len, rows.values()))} rows"
        )
        for (old, to), names in sorted(rows.items()):
            self.stdout.write(f"  {old} -> {to}  {len(names)}")
        if move:
            count = sum(map(len, rows.values()))
            if count > most:
                raise CommandError(
                    f"{count} rows are more than --most {most}; nothing was changed"
                )
            publish(now, new)
            time.sleep(grace)
            moved = Counter(
                {way: carry(*way, names) for way, names in misplaced(new).items()}
            )
            time.sleep(grace)
            settings.STEAD_MAP_BEFORE.unlink(missing_ok=True)
            self.stdout.write(
                f"epoch {new.epoch} is in use, {moved.total()} rows moved"
            )


def next_map(now, file):
    """Returns the map of a file, which is a fleet or a map. If the fleet changes
    nothing, returns the current map.
    """
    if file.suffix not in (".toml", ".json"):
        return stead.Map.open(file)
    new = stead.Map.build_file(file, now)
    return now if new.same(now) else new


def misplaced(new):
    """Returns the names of rows that are not where the map says, by (current database,
    new database).
    """
    rows = {}
    for database in SHARDS:
        for name in (
            Member.objects.using(database).values_list("name", flat=True).iterator()
        ):
            place = new.locate(name)
            if place != database:
                rows.setdefault((database, place), []).append(name)
    return rows


def publish(now, new):
    """Publishes the new map, and keeps the old one beside it. Does nothing if that was
    done before.
    """
    if now == new:
        return
    before = settings.STEAD_MAP_BEFORE
    try:
        if before.exists() and stead.Map.open(before) != now:
            raise CommandError(
                f"{before} is there: rows of epoch {now.epoch} are still to be moved; "
                f"do that first: stead_plan {settings.STEAD_MAP} --move"
            )
        now.save(before)
        new.publish(settings.STEAD_MAP, now)
    except stead.Error as error:
        raise CommandError(error) from error


def carry(old, to, names):
    """Moves rows, and returns their number. A row that a request wrote in the new place
    meanwhile is newer, and stays as it is.
    """
    count = 0
    for start in range(0, len(names), BATCH):
        with transaction.atomic(using=old):
            rows = (
                Member.objects.using(old)
                .filter(name__in=names[start : start + BATCH])
                .select_for_update()
            )
            count += len(
                Member.objects.using(to).bulk_create(list(rows), ignore_conflicts=True)
            )
            rows.delete()
    return count
