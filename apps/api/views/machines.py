"""What the machines of a launch tell: by a token of that launch alone, which their user data carries."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, cast

from django.core.exceptions import RequestDataTooBig, ValidationError
from django.utils import timezone
from django.utils.translation import gettext as _
from drf_spectacular.extensions import OpenApiAuthenticationExtension
from drf_spectacular.types import OpenApiTypes
from rest_framework import serializers
from rest_framework.authentication import BaseAuthentication, get_authorization_header
from rest_framework.exceptions import AuthenticationFailed, NotFound
from rest_framework.permissions import BasePermission
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from apps.accounts.actors import Actor
from apps.accounts.roles import Action
from apps.api.authentication import refuse_key_in_address
from apps.api.endpoint import ApiView, Endpoint, Refused
from apps.api.strict import StrictQuery, StrictSerializer, UtcDateTimeField
from apps.launches.models import Launch
from apps.launches.services import callbacks


@dataclass(frozen=True)
class MachinePrincipal:
    """Stands where a request has its user: a machine of one launch."""

    launch: Launch
    is_authenticated: bool = True
    is_anonymous: bool = False
    is_active: bool = True

    @property
    def pk(self) -> str:
        return f"launch-{self.launch.pk}"


class MachineAuthentication(BaseAuthentication):
    """`Authorization: Bearer opl_<launch>_<secret>`."""

    def authenticate(self, request: Request) -> tuple[MachinePrincipal, MachinePrincipal]:
        """The machine's principal. Raises AuthenticationFailed."""
        scheme, _space, token = get_authorization_header(request).decode("latin-1").partition(" ")
        launch = callbacks.launch_of_token(token.strip()) if scheme.lower() == "bearer" else None
        if launch is None:
            raise AuthenticationFailed(_("This is no token of a launch."))
        principal = MachinePrincipal(launch)
        return principal, principal

    def authenticate_header(self, request: Request) -> str:
        """The challenge of a 401."""
        return 'Bearer realm="offpeak launch"'


class OwnLaunch(BasePermission):
    """A machine reaches its own launch only; any other address is none."""

    def has_permission(self, request: Request, view: APIView) -> bool:
        """True, or 404."""
        principal = cast(MachinePrincipal, request.auth)
        if view.kwargs.get("launch_id") != principal.launch.pk:
            raise NotFound(_("There is nothing at this address."))
        return True


class MachineView(ApiView):
    """Base of what machines call."""

    tag = "machines"
    authentication_classes = [MachineAuthentication]
    permission_classes = [OwnLaunch]

    def initial(self, request: Request, *args: Any, **kwargs: Any) -> None:
        """Authenticate, permit, count, then validate query and body."""
        refuse_key_in_address(request)
        if int(request.META.get("CONTENT_LENGTH") or 0) > self.max_body():
            raise RequestDataTooBig("the body is too large")
        APIView.initial(self, request, *args, **kwargs)
        self.launch = cast(MachinePrincipal, request.auth).launch
        self.organisation, self.membership, self.key = self.launch.organisation, None, None
        self.actor = Actor.system(f"launch {self.launch.pk}")
        self.query = self.endpoint.query.parse(request.query_params)
        self.body = self._body(request)

    def told(self, change: Any, **given: Any) -> Response:
        """Change something and answer what the machine may know. 409 for an attempt that has ended."""
        number = int(self.body["attempt"])
        try:
            change(launch=self.launch, now=timezone.now(), **{**self.body, **given})
        except ValidationError as error:
            if "state" not in error.message_dict:
                raise
            raise Refused(error.message_dict["state"][0], code="wrong_state", status=409) from error
        self.launch.refresh_from_db()
        return self.answer(callbacks.machine_document(self.launch, number))


class AttemptQuery(StrictQuery):
    """Which attempt asks."""

    attempt = serializers.IntegerField(min_value=1, max_value=10_000)


class AttemptBody(StrictSerializer):
    """Which attempt says it."""

    attempt = serializers.IntegerField(min_value=1, max_value=10_000)


class CheckpointBody(AttemptBody):
    """Work that was written down."""

    work_hours = serializers.FloatField(min_value=0, help_text="Hours of the whole job that it holds.")
    name = serializers.CharField(max_length=500, default="", allow_blank=True)
    marked = serializers.BooleanField(default=False, help_text="Its marker is written: it counts.")


class NoticeBody(AttemptBody):
    """What the machine's metadata say."""

    kind = serializers.ChoiceField(choices=["interruption", "rebalance"])
    at = UtcDateTimeField(help_text="When the machine is taken back.")


class FinishBody(AttemptBody):
    """How the job ended."""

    ok = serializers.BooleanField()
    message = serializers.CharField(max_length=1000, default="", allow_blank=True)


def _endpoint(summary: str, body: type[StrictSerializer]) -> Endpoint:
    return Endpoint(
        summary=summary, action=Action.LAUNCH, scope=None, body=body, answer=OpenApiTypes.OBJECT,
        refusals=(409,),
    )  # fmt: skip


class MachineLaunch(MachineView):
    """How far the job is."""

    endpoints = {
        "GET": Endpoint(
            summary="How far the job of this machine is, and whether it should go on",
            action=Action.LAUNCH,
            scope=None,
            query=AttemptQuery,
            answer=OpenApiTypes.OBJECT,
        )
    }

    def get(self, request: Request, launch_id: int) -> Response:
        """The launch as a machine may see it."""
        return self.answer(callbacks.machine_document(self.launch, self.query["attempt"]))


class MachineCheckpoint(MachineView):
    """Checkpoints."""

    endpoints = {"POST": _endpoint("Work was written down", CheckpointBody)}

    def post(self, request: Request, launch_id: int) -> Response:
        """The launch as a machine may see it."""
        return self.told(callbacks.checkpoint_keep)


class MachineNotice(MachineView):
    """Interruption notices."""

    endpoints = {"POST": _endpoint("This machine is taken back, or may be", NoticeBody)}

    def post(self, request: Request, launch_id: int) -> Response:
        """The launch as a machine may see it."""
        return self.told(callbacks.machine_notice)


class MachineFinish(MachineView):
    """The end of a job."""

    endpoints = {"POST": _endpoint("The job is done, or has failed", FinishBody)}

    def post(self, request: Request, launch_id: int) -> Response:
        """The launch as a machine may see it."""
        return self.told(callbacks.launch_finish)


class MachineScheme(OpenApiAuthenticationExtension):
    """The token in the OpenAPI document."""

    target_class = MachineAuthentication
    name = "launchToken"

    def get_security_definition(self, auto_schema: object) -> dict[str, str]:
        """A bearer token."""
        return {"type": "http", "scheme": "bearer", "description": "opl_<launch>_<secret>"}
