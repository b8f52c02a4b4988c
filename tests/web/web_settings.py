"""The settings of the Django example, with one more URL, and with the changes that make
it a control.
"""

import os

from shards.settings import *
from shards.settings import DATA, MIDDLEWARE

ROOT_URLCONF = "web_urls"
CONTROL = os.environ.get("CONTROL")

if CONTROL == "no middleware":
    MIDDLEWARE = [one for one in MIDDLEWARE if "stead" not in one]
if CONTROL == "no look back":
    STEAD_MAP_BEFORE = DATA / "nowhere.map"
