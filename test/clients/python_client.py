"""Creates, polls, patches, lists and deletes a deployment with the client that openapi-python-client generated.

Environment: BERTH_URL, BERTH_API_KEY, BERTH_TENANT_ID.
"""

import os
import time

from berth_client import AuthenticatedClient
from berth_client.api.deployments import (
    create_deployment,
    delete_deployment,
    get_deployment,
    list_deployments,
    update_deployment,
)
from berth_client.api.events import list_deployment_events
from berth_client.api.revisions import list_revisions, redeploy_revision
from berth_client.models import (
    CreateDeploymentInput,
    Deployment,
    DeploymentSource,
    DeploymentStatus,
    EmptyInput,
    Error,
    ResourceSpecInput,
    Revision,
    SecretInput,
    SourceConfigInput,
    SourceRevisionConfigInput,
    UpdatedDeployment,
    UpdateDeploymentInput,
    UpdateSourceRevisionConfigInput,
)

TIMEOUT_SECONDS = 90

client = AuthenticatedClient(
    base_url=os.environ["BERTH_URL"],
    token=os.environ["BERTH_API_KEY"],
    prefix="",
    auth_header_name="X-Api-Key",
    raise_on_unexpected_status=True,
)
tenant = os.environ["BERTH_TENANT_ID"]


def poll(deployment_id, is_done):
    """Returns what the API answers as soon as it is what the caller waits for."""
    end = time.monotonic() + TIMEOUT_SECONDS
    while True:
        found = get_deployment.sync(deployment_id, client=client, x_tenant_id=tenant)
        if is_done(found):
            return found
        assert time.monotonic() < end, f"not done in {TIMEOUT_SECONDS} s: {found}"
        time.sleep(0.5)


def is_deployed(found):
    assert isinstance(found, Deployment), found
    is_active = found.active_revision_id is not None and found.active_revision_id == found.latest_revision_id
    return found.status == DeploymentStatus.READY and is_active


created = create_deployment.sync(
    client=client,
    body=CreateDeploymentInput(
        name="python",
        source=DeploymentSource.EXTERNAL_IMAGE,
        source_config=SourceConfigInput(resource_spec=ResourceSpecInput(cpu=0.25, memory_mb=256)),
        source_revision_config=SourceRevisionConfigInput(image_uri="registry.example/shop/web:1.0.0"),
        secrets=[SecretInput(name="TOKEN", value="example")],
    ),
)
assert isinstance(created, Deployment), created
assert created.image_version == "1.0.0", created
first = poll(created.id, is_deployed)
assert first.source_config.resource_spec.cpu == 0.25, first.source_config
assert first.effective_resource_spec.memory_mb == 256, first.effective_resource_spec

updated = update_deployment.sync(
    created.id,
    client=client,
    body=UpdateDeploymentInput(
        source_revision_config=UpdateSourceRevisionConfigInput(image_uri="registry.example/shop/web:1.1.0")
    ),
)
assert isinstance(updated, UpdatedDeployment), updated
second = poll(created.id, is_deployed)
assert second.image_version == "1.1.0", second
assert second.active_revision_id != first.active_revision_id, second

page = list_deployments.sync(client=client, name="python", mask_secrets=True)
assert [found.id for found in page.resources] == [created.id], page
assert page.resources[0].secrets[0].value == "**********", page
revisions = list_revisions.sync(created.id, client=client)
assert [revision.number for revision in revisions.resources] == [2, 1], revisions
repeated = redeploy_revision.sync(created.id, first.active_revision_id, client=client)
assert isinstance(repeated, Revision) and repeated.number == 3, repeated
again = redeploy_revision.sync(created.id, repeated.id, client=client, body=EmptyInput())
assert isinstance(again, Revision) and again.number == 4, again
events = list_deployment_events.sync(created.id, client=client)
assert events.resources[-1].actor.kind == "api_key", events

deleted = delete_deployment.sync_detailed(created.id, client=client)
assert deleted.status_code == 204, deleted
poll(created.id, lambda found: isinstance(found, Error))
print("created, polled, patched, listed and deleted")
