"""A member: GET reads it, POST creates it or counts a visit, DELETE deletes it."""

from django.db import transaction
from django.http import HttpResponse, JsonResponse
from django.views.decorators.http import require_http_methods
from stead.django import current_map, shard

from .models import Member


@require_http_methods(["GET", "POST", "DELETE"])
def member(request, name):
    """/members/NAME. All lookups below use one map, that of the request."""
    if request.method == "DELETE":
        Member.objects.remove(name)
        return HttpResponse(status=204)
    if request.method == "POST":
        found = visit(name)
    else:
        try:
            found = Member.objects.find(name)
        except Member.DoesNotExist:
            return JsonResponse({"error": f"there is no member {name!r}"}, status=404)
    # while rows are moving, `database` may be the old place
    place = {
        "epoch": current_map().epoch,
        "shard": shard(name),
        "database": found._state.db,
    }
    return JsonResponse({"name": found.name, "visits": found.visits, **place})


def visit(name):
    """Counts a visit. The transaction is in the database to which the row will be
    written, so that the row is not moved there between reading and writing.
    """
    with transaction.atomic(using=shard(name)):
        try:
            found = Member.objects.find(name)
        except Member.DoesNotExist:
            found = Member(name=name)
        found.visits += 1
        # the router sees the instance, so this writes to the new place, wherever the
        # row was read
        found.save()
    return found
