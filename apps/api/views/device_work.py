"""What idle devices call: by a device's key alone, about their own work alone. They never see the broker."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, cast

from django.core.exceptions import RequestDataTooBig
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
from apps.api.strict import StrictSerializer
from apps.catalog.models import Device
from apps.launches.models import Work
from apps.launches.selectors.values import iso_or_none
from apps.launches.services import work as services
from apps.launches.services.pools import device_of_token
from apps.launches.wording_pools import why_no_work


@dataclass(frozen=True)
class DevicePrincipal:
    """Stands where a request has its user: a device."""

    device: Device
    is_authenticated: bool = True
    is_anonymous: bool = False
    is_active: bool = True

    @property
    def pk(self) -> str:
        return f"device-{self.device.pk}"


class DeviceAuthentication(BaseAuthentication):
    """`Authorization: Bearer opd_<prefix>_<secret>`."""

    def authenticate(self, request: Request) -> tuple[DevicePrincipal, DevicePrincipal]:
        """The device's principal. Raises AuthenticationFailed."""
        scheme, _space, token = get_authorization_header(request).decode("latin-1").partition(" ")
        device = device_of_token(token.strip()) if scheme.lower() == "bearer" else None
        if device is None:
            raise AuthenticationFailed(_("This is no key of a device."))
        if device.revoked_at is not None:
            raise AuthenticationFailed(_("This key was revoked."))
        principal = DevicePrincipal(device)
        return principal, principal

    def authenticate_header(self, request: Request) -> str:
        """The challenge of a 401."""
        return 'Bearer realm="offpeak device"'


class DeviceScheme(OpenApiAuthenticationExtension):
    """The key in the OpenAPI document."""

    target_class = DeviceAuthentication
    name = "deviceKey"

    def get_security_definition(self, auto_schema: object) -> dict[str, str]:
        """A bearer token."""
        return {"type": "http", "scheme": "bearer", "description": "opd_<prefix>_<secret>"}


class AnyDevice(BasePermission):
    """Every device reaches these; whose the work is the services see to."""

    def has_permission(self, request: Request, view: APIView) -> bool:
        """True: who got here has a key."""
        return True


class IdleBody(StrictSerializer):
    """How long nobody used the device."""

    idle_seconds = serializers.IntegerField(min_value=0, max_value=2**31 - 1)


class LeaseBody(StrictSerializer):
    """Which hand-out of the work it is."""

    lease = serializers.IntegerField(min_value=1, max_value=2**31 - 1)


class RenewBody(LeaseBody, IdleBody):
    """The lease and how long nobody used the device."""


class DeviceCheckpointBody(LeaseBody):
    """A checkpoint that is written."""

    checkpoint = serializers.CharField(max_length=1000)
    share = serializers.FloatField(min_value=0, max_value=1, help_text="Of the whole work.")


class YieldBody(LeaseBody):
    """Why it is given back."""

    reason = serializers.CharField(max_length=200, default="", allow_blank=True)


class ResultBody(LeaseBody):
    """How it ended."""

    succeeded = serializers.BooleanField()
    result = serializers.JSONField(help_text="An object of at most 16 KiB.")


class DeviceView(ApiView):
    """Base of what devices call. Work that a device does not have (any more) is 409 with its state."""

    tag = "devices"
    authentication_classes = [DeviceAuthentication]
    permission_classes = [AnyDevice]

    def initial(self, request: Request, *args: Any, **kwargs: Any) -> None:
        """Authenticate, count, then validate query and body."""
        refuse_key_in_address(request)
        if int(request.META.get("CONTENT_LENGTH") or 0) > self.max_body():
            raise RequestDataTooBig("the body is too large")
        APIView.initial(self, request, *args, **kwargs)
        self.device = cast(DevicePrincipal, request.auth).device
        self.organisation, self.membership, self.key = self.device.pool.organisation, None, None
        self.actor = Actor.system(f"device {self.device.name}")
        self.query = self.endpoint.query.parse(request.query_params)
        self.body = self._body(request)

    def on(self, work_id: int, change: Any, **given: Any) -> Any:
        """Change the device's work. 404 for work of another pool, 409 where the lease is lost."""
        if not Work.objects.filter(pk=work_id, pool_id=self.device.pool_id).exists():
            raise NotFound(_("There is nothing at this address."))
        try:
            return change(work_id=work_id, device=self.device, now=timezone.now(), **given)
        except services.LeaseLostError as error:
            raise Refused(
                _("The work is not this device's any more: %(state)s.") % {"state": error.state},
                code="lease_lost", status=409,
            ) from error  # fmt: skip


def work_answer(work: Work) -> dict[str, Any]:
    """What a device may know of its work."""
    return {
        "id": work.pk, "lease": work.lease, "lease_until": iso_or_none(work.lease_until), "state": work.state,
        "command": work.document.get("command"), "env": work.document.get("env") or {},
        "checkpoint": work.checkpoint, "share": work.share,
    }  # fmt: skip


def _post(summary: str, body: type[StrictSerializer]) -> dict[str, Endpoint]:
    return {
        "POST": Endpoint(
            summary=summary, action=Action.VIEW, scope=None, body=body, answer=OpenApiTypes.OBJECT,
            refusals=(409,),
        )
    }  # fmt: skip


class DevicePoll(DeviceView):
    """Ask for work."""

    endpoints = _post("A device asks for work; asked again, it gets the same work again", IdleBody)

    def post(self, request: Request) -> Response:
        """`{"work", "why", "reason", "ask_again_seconds"}`."""
        found, why = services.work_poll(device=self.device, now=timezone.now(), **self.body)
        return self.answer({
            "work": None if found is None else work_answer(found),
            "why": why or None,
            "reason": why_no_work(why) or None,
            "ask_again_seconds": 30,
        })  # fmt: skip


class DeviceRenew(DeviceView):
    """Keep the work."""

    endpoints = _post("A device still has its work; `go_on` false: write a checkpoint and yield", RenewBody)

    def post(self, request: Request, work_id: int) -> Response:
        """`{"go_on", "why", "lease_until"}`."""
        work, why = self.on(work_id, services.work_renew, **self.body)
        return self.answer(
            {"go_on": not why, "why": why or None, "lease_until": iso_or_none(work.lease_until)}
        )


class DeviceCheckpoint(DeviceView):
    """A checkpoint is written."""

    endpoints = _post("A device wrote a checkpoint", DeviceCheckpointBody)

    def post(self, request: Request, work_id: int) -> Response:
        """The work."""
        return self.answer(work_answer(self.on(work_id, services.work_checkpoint, **self.body)))


class DeviceYield(DeviceView):
    """Give the work back."""

    endpoints = _post("A device gives its work back: it waits again, from its checkpoint", YieldBody)

    def post(self, request: Request, work_id: int) -> Response:
        """The work."""
        return self.answer(work_answer(self.on(work_id, services.work_yield, **self.body)))


class DeviceResult(DeviceView):
    """The work is over."""

    endpoints = _post("A device finished its work; said again it changes nothing", ResultBody)

    def post(self, request: Request, work_id: int) -> Response:
        """The work."""
        body = dict(self.body)
        body["result"] = services.result_checked(body["result"])
        return self.answer(work_answer(self.on(work_id, services.work_finish, **body)))
