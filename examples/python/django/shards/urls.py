"""Addresses."""

from django.urls import path
from members.views import member

urlpatterns = [path("members/<str:name>", member)]
