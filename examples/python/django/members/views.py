"""A member: GET reads it, POST creates it or counts a visit, DELETE deletes it."""

from django.db import transaction
from django.http import HttpResponse, JsonResponse
from django.views.decorators.http import require_http_methods
from stead.django import current_map, shard

from .models import Member


@require_http_methods(["GET", "POST", "DELETE"])
def member(request, name):
    """/members/NAME. However often the map is asked below, this request has one."""
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
    """Counts. The transaction is in the place where the row will be written, so that it
    is not moved there between reading and writing.
    """
    with transaction.atomic(using=shard(name)):
        try:
            found = Member.objects.find(name)
        except Member.DoesNotExist:
            found = Member(name=name)
        found.visits += 1
        # the router sees the instance: this goes to the new place, wherever it was read
        found.save()
    return found
