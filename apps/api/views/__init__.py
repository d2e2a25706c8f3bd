"""Endpoints, one module an area; each is listed in apps/api/urls.py."""
