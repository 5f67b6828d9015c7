"""The pages for people: server-rendered, over the services of the API."""

from django.apps import AppConfig


class PagesConfig(AppConfig):
    """Pages, their templates and static files."""

    name = "pages"
