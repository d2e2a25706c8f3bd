"""Saved views of the spend explorer, and the teams that cost is given to."""

from __future__ import annotations

from typing import Any

from django.db.models import QuerySet
from django.utils.translation import gettext as _
from rest_framework import serializers
from rest_framework.exceptions import PermissionDenied
from rest_framework.request import Request
from rest_framework.response import Response

from apps.accounts.models import Team, User
from apps.accounts.roles import Action, Scope
from apps.accounts.selectors import team_list
from apps.accounts.services import team_create
from apps.api.endpoint import ApiView, Endpoint, found_or_404, page_of
from apps.api.strict import PageQuery, StrictSerializer, UtcDateTimeField
from apps.billing.models import SavedView
from apps.billing.services.views import saved_view_keep, saved_view_remove


class ViewAnswer(serializers.ModelSerializer[SavedView]):
    """A question under a name."""

    created_at = UtcDateTimeField()

    class Meta:
        model = SavedView
        fields = ["id", "name", "query", "created_at"]


class ViewBody(StrictSerializer):
    """A name and the query of a page's address."""

    name = serializers.CharField(max_length=100, help_text="The same name again replaces the view.")
    query = serializers.CharField(
        max_length=4000,
        allow_blank=True,
        help_text="As in the address: from=2018-11-01&to=2018-12-01&by=team",
    )


class _Views(ApiView):
    tag = "spend"

    def owner(self) -> User:
        """Views are a person's own. Raises PermissionDenied for the installation itself."""
        if self.membership is None:
            raise PermissionDenied(_("Saved views are a person's own: name one with --as."))
        return self.membership.user

    def mine(self) -> QuerySet[SavedView]:
        """The views of the reader."""
        return SavedView.objects.filter(organisation=self.organisation, owner=self.owner())


class Views(_Views):
    """Saved views of the reader."""

    endpoints = {
        "GET": Endpoint(
            summary="List your saved views of the spend explorer",
            action=Action.VIEW,
            scope=None,
            query=PageQuery,
            answer=page_of(ViewAnswer),
        ),
        "POST": Endpoint(
            summary="Keep a question of the spend explorer under a name",
            action=Action.VIEW,
            scope=None,
            body=ViewBody,
            answer=ViewAnswer,
            status=201,
        ),
    }

    def get(self, request: Request) -> Response:
        """One page."""
        return self.page(self.mine())

    def post(self, request: Request) -> Response:
        """The view as it is kept."""
        view = saved_view_keep(organisation=self.organisation, owner=self.owner(), **self.body)
        view.refresh_from_db()
        return self.answer(view)


class OneView(_Views):
    """A saved view of the reader."""

    endpoints = {
        "DELETE": Endpoint(
            summary="Forget a saved view", action=Action.VIEW, scope=None, answer=None, status=204
        )
    }

    def delete(self, request: Request, view_id: int) -> Response:
        """Nothing."""
        saved_view_remove(view=found_or_404(self.mine(), pk=view_id))
        return self.answer(None)


class TeamAnswer(serializers.ModelSerializer[Team]):
    """A team by its slug, which rules, budgets and filters name."""

    class Meta:
        model = Team
        fields = ["slug", "name"]


class TeamBody(StrictSerializer):
    """A new team."""

    name = serializers.CharField(max_length=100)


class Teams(ApiView):
    """The organisation's teams."""

    tag = "allocation"
    endpoints = {
        "GET": Endpoint(
            summary="List teams",
            action=Action.VIEW,
            scope=Scope.READ_BILLS,
            query=PageQuery,
            answer=page_of(TeamAnswer),
        ),
        "POST": Endpoint(
            summary="Make a team",
            action=Action.MANAGE_MEMBERS,
            scope=None,
            body=TeamBody,
            answer=TeamAnswer,
            status=201,
        ),
    }

    def get(self, request: Request) -> Response:
        """One page."""
        return self.page(team_list(self.organisation).order_by("name", "pk"))

    def post(self, request: Request) -> Response:
        """The team as it is kept."""
        body: dict[str, Any] = self.body
        return self.answer(team_create(organisation=self.organisation, actor=self.actor, name=body["name"]))
