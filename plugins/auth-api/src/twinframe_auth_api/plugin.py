"""The entry point of this distribution: the hooks for its settings, findings and permission
provider.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from twinframe import hookimpl
from twinframe.access.permissions import PermissionProvider
from twinframe.model.ids import is_resource_id
from twinframe.runtime.diagnosis.endpoints import check_endpoint
from twinframe.runtime.diagnosis.findings import Finding, build_fine, build_warning
from twinframe.runtime.diagnosis.secrecy import check_secret
from twinframe.settings import Section
from twinframe_auth_api.provider import ApiProvider
from twinframe_auth_api.settings import ApiProviderSettings


@hookimpl
def twinframe_settings() -> type[Section]:
    """The section `Authorization__ApiProvider`."""
    return ApiProviderSettings


@hookimpl
def twinframe_findings(settings: Section) -> Sequence[Finding]:
    """Report whether the permission service and its token service answer."""
    return list(_check(settings)) if isinstance(settings, ApiProviderSettings) else ()


def _check(settings: ApiProviderSettings) -> Iterator[Finding]:
    section, seconds = "Authorization__ApiProvider", settings.timeout_seconds
    addresses = (("BaseUrl", settings.base_url), ("TokenEndpoint", settings.token_endpoint))
    for name, url in addresses:
        if url:
            key = f"{section}__{name}"
            yield from check_endpoint(key, url, ca_file=settings.ca_file, timeout=seconds)
    yield _check_name(settings)
    yield from check_secret(f"{section}__BearerToken", settings.bearer_token.get_secret_value())
    yield from check_secret(f"{section}__ClientSecret", settings.client_secret.get_secret_value())


def _check_name(settings: ApiProviderSettings) -> Finding:
    """Report whether a caller could choose the name of the service's own graph for a resource."""
    name, endpoint = settings.resource_name, settings.check_endpoint
    if "{resourceName}" not in endpoint or not is_resource_id(name):
        how = "" if "{" in endpoint else " with graph=service"
        return build_fine(
            "access",
            f"The service's own graph is asked about as {name!r}{how}: as no resource of a tenant.",
        )
    return build_warning(
        "access",
        f"Authorization__ApiProvider__CheckEndpoint={endpoint} asks about the service's own graph "
        f"as it does about a resource with the id {name!r}: whoever may create one owns this "
        "graph, if the service that is asked is a control plane.",
        "Leave the braces out of CheckEndpoint, so that graph=service is sent; or set "
        "Authorization__ApiProvider__ResourceName to what is no resource's id, such as _own.",
    )


@hookimpl
def twinframe_permission_provider(settings: Section, resource: str) -> PermissionProvider | None:
    """A provider that asks the configured service about the resource."""
    if not isinstance(settings, ApiProviderSettings):
        return None
    return ApiProvider(settings, resource=resource)
