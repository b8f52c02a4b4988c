"""The URLs of the Django example, and one more."""

import time

from django.db import router
from django.http import JsonResponse
from django.urls import path
from members.models import Member
from shards import urls
from stead.django import current_map, shard


def twice(request, name):
    """Locates with the map, waits so that a publisher may publish, and locates again
    with the router.
    """
    said = {"epoch": current_map().epoch, "shard": shard(name)}
    time.sleep(0.01)
    return JsonResponse(
        {
            **said,
            "database": router.db_for_write(Member, instance=Member(name=name)),
            "again": current_map().epoch,
        }
    )


urlpatterns = [*urls.urlpatterns, path("twice/<str:name>", twice)]
