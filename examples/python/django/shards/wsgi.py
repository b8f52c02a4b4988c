"""For gunicorn: `gunicorn shards.wsgi`."""

import os

from django.core.wsgi import get_wsgi_application

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "shards.settings")
application = get_wsgi_application()
