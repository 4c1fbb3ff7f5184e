/** The text of docs/lifecycle.md: the state machines, drawn from their data. `npm run docs` writes it. */

import {
  DEFAULT_PATIENCE,
  FAILURE_RULES,
  type Lasts,
} from '../src/cluster/operator/rollout/failure-rules.ts';
import { CONDITION_TYPES, REASONS, TROUBLES } from '../src/domain/conditions/conditions.ts';
import { isEventReason } from '../src/domain/conditions/event-reasons.ts';
import { FIELD_RECOVERIES } from '../src/domain/deployment/field-recovery.ts';
import {
  DEPLOYMENT_STATUS_RULES,
  isTerminalStatus,
  MOVERS,
  REVISION_MEANINGS,
  REVISION_STATUSES,
  REVISION_TRANSITIONS,
  type RevisionTransition,
} from '../src/domain/revision/states.ts';
import { cell } from './markdown.ts';

const HEAD = `<!-- Generated from src/domain/revision/states.ts and src/domain/conditions/conditions.ts by \`npm run docs\`. Do not edit. -->
# States

Every change of a status writes an event in the same transaction: \`GET /v2/deployments/{id}/events\`. The event contains the
reason, the previous status (\`details.from\`) and the new status (\`details.to\`). If the event names a revision, both are statuses of the
revision. Otherwise both are statuses of the deployment. A request that creates a revision writes one event for both:
\`details.status\` and \`details.revision_status\`. The \`from\` of each event is equal to the \`to\` of the event before.

The operator also writes Kubernetes Events on the ManagedDeployment, with the reasons of the conditions below:
\`kubectl describe mdep NAME\`. Equal Events are counted in one object. Some statuses exist only in the hub (QUEUED, SKIPPED, UNKNOWN).
These statuses appear only in the events of the API.
`;

const PAUSE = `## Pause

The annotation \`berth.dev/paused: "true"\` on the custom resource stops the operator. While the annotation is set, the operator writes only the status. The status still shows what the operator observes, with the condition \`Paused\` on the custom resource and in the API. A pause does not count
towards the deadline of a rollout. When you remove the annotation, the operator reconciles the current desired state (Event
\`Resumed\`).

A pause does not stop a deletion. If you delete a paused deployment, its pods keep running during the grace period. Then the
listener purges the deployment like any other. To keep a deployment that is being deleted, restore it.

\`kubectl rollout pause\` on one of the Deployments has no effect: the operator reverts it like any other manual change. (While the annotation
is set, the operator does not revert it.) A paused Deployment would follow neither changes nor rollbacks, and no status would say why.

## Deletion and restore

The grace period is \`BERTH_DELETION_GRACE\` (default: none). During the grace period, no pods run and the route does not exist. The volume, the Secrets
and the stored templates stay. The custom resource has \`spec.deletion\` with \`requestTime\` and \`restorableUntilTime\`. \`kubectl get mdep\` shows
\`AWAITING_DELETE\` with the reason \`DeletionRequested\`, and \`-o wide\` shows how long the deployment can be restored. The messages of \`Ready\` and \`explain\` contain the reason and this time.

\`POST /v2/deployments/{id}/restore\` cancels the deletion. The deployment starts again with its data and its active revision, and an
Event \`Restored\` is written. During the grace period, others can take some of its resources:

- The host of custom_url is available to other deployments, of any tenant, as soon as the route no longer exists. If another deployment has taken the host, the
  deployment is restored without a URL: custom_url is null, and the event \`Restored\` contains the previous URL
  (\`details.lost_custom_url\`). While another deployment is giving the host up, a restore gets a 409: retry after a moment. In the last ten minutes
  of the grace period, the deployment is instead restored without a URL.
- The name is available within the tenant at once. If another deployment has the name, a restore gets a 409 until that deployment is deleted.
- The tenant can use the quota for other deployments. If the quota has no room, a restore gets a 400 with the numbers.

At the end of the grace period, Berth removes all objects of the deployment from the cluster, and then its record.

When the custom resource itself is being deleted, by the listener or by hand, the status is \`AWAITING_DELETE\` with the reason \`BeingDeleted\`. The message
names finalizers that block the deletion. All other conditions are \`Unknown\`, because the operator no longer observes the resource. If a custom resource of
the hub was deleted by hand, the listener creates it again, with its data and its active revision.

If you delete a resource applied by hand and apply it again with the same name, it uses the volume, the credentials and the active revision that
are still there. If you then delete it again, these objects stay, regardless of its \`volumePolicy\`, because they have the uid of the former resource.
A resource cannot use objects that a deployment of the hub left behind (\`keep_workloads\`), or objects that were left behind with running workloads. Then
\`Ready\` is \`False\` with the reason \`Conflict\`, and the message names the objects.

cert-manager stores the certificate of a host in the Secret \`<app>-tls\`. Berth deletes this Secret some seconds after it has deleted the route. Berth deletes the Secret when custom_url is cleared or changed, and in the grace period. When the host returns, cert-manager requests a new certificate.

## Pods that fail outside of a rollout

The rules above also give the reason when pods of the active revision fail while no rollout is in progress. Pods can fail in this way after a scale-up (by an autoscaler, by kubectl or by source_config), after a pod was deleted or evicted, when a node is lost, and after a
rollback. The reason appears within seconds. The times and the deadline of the table do not apply, because no rollout
fails. The revision stays DEPLOYED and active, nothing is rolled back, and the cluster starts the pods as soon as it can.

- \`Ready\` is False with the reason and the source of the failure: component, pod, container, exit code, and the field that causes it.
  If there are several causes, the message names all of them, and the reason is that of the first. \`Serving\` shows whether an api pod is available.
- \`GET …/revisions/{id}/explain\` of the active revision shows the parts of the source, and a remedy for this case.
- For each component and reason there is one event in the history and one Event of type Warning, no matter how often a container
  restarts and how many pods have the same symptom. An event \`Recovered\` and a Kubernetes Event follow when the symptom is over.
- \`status.symptoms\` of the custom resource lists the symptoms.

\`Ready\` is True again as soon as all pods are available. A symptom is over at that moment. There are three exceptions:

- A container that failed counts as recovered after it has run for 30 seconds. These 30 seconds double with each restart, up to 10 minutes.
- A failing readiness probe is reported after a minute, and is over 30 seconds after the last failure.
- If nodes evict pods, or an init container ends them, one after another, the symptom is over when no pod has ended for 10 minutes.

So a container that runs for a while between its failures has only one entry in the history. A sidecar that restarts while its pod stays ready has only one entry too.

\`NodeLost\` means that the node of a pod does not respond. After some minutes, the cluster replaces pods of the app. The cluster replaces a pod of the database only when the node is back or was removed.

If a database or cache was ready and then fails, the same applies: \`Ready\` has the reason of its pod, and there are an event, a warning and a remedy. The next section describes its own condition and the status of the deployment.

## A database or cache that fails later

If a database (cache) was ready and then fails, \`DatabaseReady\` (\`CacheReady\`) is False with the reason \`DatabaseUnavailable\` (\`CacheUnavailable\`). The
message names the pod and the problem. The deployment is \`AWAITING_DATABASE\` again, because READY means that the data services respond now.

- The pods of the app do not change. \`Serving\` and the active revision stay as they are.
- A new revision is rolled out meanwhile, because it may repair the failure.
- The deployment becomes READY again without intervention when the data service responds.

\`DatabaseStarting\` is the reason of a database that starts for the first time, or is replaced because its size changed. If someone scales the
StatefulSet by hand, the operator reverts it.

## Expansion of a volume

A larger db_storage_gi expands the volume in place, without a restart. During the expansion, \`DatabaseReady\` is True with the reason
\`VolumeResizing\`, and the message contains the condition of the claim (\`FileSystemResizePending\`, \`ControllerResizeError\` …). \`Ready\` is not True until
the expansion finishes.

If the cluster rejects the expansion, \`Ready\` is False with one of these reasons:

- \`VolumeNotExpandable\`: the storage class does not allow expansion. \`DatabaseReady\` has this reason too, but the deployment stays \`READY\`.
- \`QuotaExceeded\`
- \`Refused\`: an admission rule rejects the expansion, or rights are missing.

Berth retries the expansion with backoff, at least every five minutes. The failed expansion blocks nothing else: revisions roll out and become active. If a
revision fails, \`Ready\` shows that failure first. There are two ways to resolve the failure: the administrators of the cluster allow the expansion, or a PATCH lowers
db_storage_gi again. You can lower an expansion that was rejected or does not finish to any size down to the capacity of the volume. A
lower value gets a 400 (\`storage_shrinks\`) that names the capacity. For a resource applied by hand, a validation rule of the custom resource definition enforces the same limit.

- If the new size is above the capacity, Berth lowers the claim. Kubernetes allows this since 1.32 (RecoverVolumeExpansionFailure). Earlier versions reject the change (\`Refused\`). With an earlier version, set the size to the capacity itself.
- If the new size is equal to the capacity, Kubernetes does not lower the claim, so Berth leaves it as it is. No failure is reported any more,
  and \`DatabaseReady\` says that the claim still requests more. If the storage system succeeds later, the volume is larger
  than db_storage_gi. The status reports the larger size too, and this size counts towards the quotas of the tenant.
- If the storage provider rounds up, the capacity is the rounded size. A size between db_storage_gi and the capacity needs no
  expansion.
- If the cluster rejects the claim of a deployment, or cannot provision it (an Event contains the cause), the deployment has no volume. Then Berth accepts any size.
- A listener or operator of an earlier version does not report the capacity of an unfinished expansion. While such a listener or operator reports \`VolumeResizing\`, Berth accepts any smaller size. The operator never shrinks a volume, regardless of the value of db_storage_gi.

Until the expansion finishes, \`observed_generation\` does not change and \`remote_reconciled\` is false.

If the tenant uses its own database (\`DATABASE_URI_CUSTOM\`) or has switched the database off (\`database.enabled\`), db_storage_gi is not the size of a volume in use. You can lower db_storage_gi to the size of the volume that was kept from before, or to any size if no volume was kept.

If someone deletes the volume claim of a database, Kubernetes removes it, and with it the data, as soon as no pod uses it. Therefore Berth then does not restart, stop or remove the database, regardless of the desired state. The reason is \`VolumeBeingDeleted\`, and the message contains the commands that save
the data. The deployment stays \`READY\`. If you switch the deployment off, the operator does not stop the database either.

## What is in effect

\`observed_generation\` is the last generation that was completely in effect. \`remote_reconciled\` is true when that is the current generation. The cluster then runs the whole desired state. Before the first revision is active, no older generation can be in effect. So until then, \`observed_generation\` follows the current generation at once, even if the first revision failed or has not started. Later, each of the following keeps \`observed_generation\` at its value, even if other parts of a later generation are in effect:

- a revision that failed
- a change that was rolled back
- a volume that cannot be expanded

\`active_revision_id\` shows what runs, and \`Ready\` shows what is missing.

## What serves while a change is in progress

After a revision has failed, the active revision runs again with the templates, components and pods that it had before. A change of
source_config that came with the failed revision is not in effect, and the message of \`Progressing\` reports this. The next change of source_config is rolled out
in place, on the active revision. If this change fails, it is rolled back too, and both failures are reported. The failed
revision stays failed.

A new revision can replace an external database or cache of the app by one that Berth runs. That revision waits until the new data service responds
(\`AwaitingDataServices\`). Meanwhile the operator still scales, repairs and routes the active revision, and the deployment is \`READY\`:
\`DatabaseReady\` refers to the database of the active revision. After \`BERTH_PROGRESS_DEADLINE_SECONDS\`, the new revision fails. To retry the revision, use \`redeploy\`. The first revision of a deployment waits without a deadline.

The deadline of a rollout starts with the first templates of its revision, or of a chain of changes in place. Further changes during the rollout do not extend the deadline.

## Routes

\`BERTH_ROUTING\` defines what Berth creates for a URL: an Ingress, an HTTPRoute of the Gateway API, or nothing. \`url\` in the API and
in the status comes from the route in the cluster, not from the desired state:

- An Ingress counts as ready when it exists, because not every controller reports more.
- An HTTPRoute counts as ready when the Gateway of its parentRef reports \`Accepted\` for its current spec. Until the Gateway reports this, \`url\` is empty, because nothing would respond.

The route follows custom_url at once, even while a rollout fails or waits. Another deployment can take a host only when no
route object of the former deployment has it any more. Route objects that a finalizer blocks, or that are currently not accepted, count too
(\`status.routes\` of the custom resource lists them). Until then, a request for that host gets a 409. A deployment that was deleted with
keep_workloads keeps its host: other tenants cannot use it. To free the host, see the parameter \`force\` of the deletion.

If you change the kind of route, the former route stays until the new one is ready. If the cluster does not have the Gateway API, the reason is
\`RouteUnsupported\`, and everything else works. Berth detects within half a minute that the Gateway API was installed or removed.
\`RouteReady\` is part of \`Ready\`, but not of \`Serving\`: a revision can become active without a route.
`;

/** Escapes the character that ends a table cell. */
function row(...cells: readonly string[]): string {
  return `| ${cells.map(cell).join(' | ')} |`;
}

function table(head: readonly string[], rows: readonly string[][]): string {
  return [row(...head), row(...head.map(() => '---')), ...rows.map((cells) => row(...cells))].join('\n');
}

function lastsFor(lasts: Lasts): string {
  if (lasts === 'not at all') return 'at once';
  if (lasts === 'until the deadline') return 'at the deadline';
  if (lasts === 'as long as it is seen')
    return 'at the deadline if there is another problem; otherwise the deadline is extended';
  const seconds = DEFAULT_PATIENCE[lasts.patience] / 1000;
  return `after ${seconds} s${lasts.from === 'scheduledAt' ? ' on its node' : ''}`;
}

function failures(): string {
  return `## What fails a rollout, and when

A rollout is complete when all pods of every component are updated and available. The operator compares the symptoms of pods and of
their controllers with this table from top to bottom. The first line that matches gives the reason, and the time after which the rollout fails:

${table(
  ['symptom', 'reason', 'the rollout fails'],
  FAILURE_RULES.map(({ seen, reason, lasts }) => [seen, `\`${reason}\``, lastsFor(lasts)]),
)}

The deadline is \`BERTH_PROGRESS_DEADLINE_SECONDS\` after the start of the rollout, without the time of a pause. If no line matches by
then, the reason is \`RolloutDeadlineExceeded\`. If the cluster rejects an object itself (by an admission rule, or because of a field), the rollout fails at once
with \`AdmissionRefused\`.

Within seconds, \`Ready\` shows the reason of a problem, even if the problem may be temporary. Each of the following reasons causes an event in the history and an Event of type Warning whenever it occurs, during a rollout or not:
${code(TROUBLES)}.
Outside of a rollout, every reason of the table causes such an event: see [Pods that fail outside of a rollout](#pods-that-fail-outside-of-a-rollout).

A pod ends only when its replacement is available, so there are never fewer pods than desired. There is one exception: a
component with a single pod whose replacement cannot start because the old pod uses its volume. (The volume has the access mode ReadWriteOncePod, or it has
ReadWriteOnce and the replacement is on another node.) Then the old pod ends first, and the component has no pod until the
replacement is available. A rollback proceeds in the same way. During that time, the Deployment has \`maxSurge: 0\` and \`maxUnavailable: 1\`.
If several pods or several components use such a volume, ending one pod would not help. In that case, the operator reports the reason, and the
remedy of \`explain\` names the volume. A remedy depends on the cause, as far as the cluster reports it. Examples are the resource that a node or a quota
lacks, an image that does not exist or whose registry does not respond, and what a volume waits for.

The operator first records a failure. Then the operator rolls all components back together to the templates that were active before. \`Progressing\` has the reason
\`RolloutFailed\`, then \`RolledBack\`. If no revision was active before, one pod of each component stays for diagnosis.
The revision stays DEPLOY_FAILED, with the source of the failure. \`redeploy\` creates a new revision with the same content. If a change of
source_config fails, its revision stays DEPLOYED. The history has an event with the source of the failure, and \`Ready\` has the reason.
Berth does not retry failed rollouts.

The number of Kubernetes Events for one deployment is limited. For warnings and results of rollouts, the limit is 50 at once and three a
minute. For all other Events, the limit is 25 at once and one a minute. The Event \`EventsLeftOut\` contains the number of omitted Events.
`;
}

const code = (names: readonly string[]) => names.map((name) => `\`${name}\``).join(', ');

function deployments(): string {
  const others = DEPLOYMENT_STATUS_RULES.map(({ status }) => status);
  const arrows = others.flatMap((from) =>
    from === 'AWAITING_DELETE' ? [] : others.filter((to) => to !== from).map((to) => `    ${from} --> ${to}`),
  );
  const restored = others.filter((to) => to !== 'AWAITING_DELETE');
  return `## Deployment

The status of a deployment is derived from observations: the first line that applies gives the status. So any status can follow any other. A
deployment leaves \`AWAITING_DELETE\` only by a restore.

${table(
  ['status', 'when', 'meaning', 'reasons'],
  DEPLOYMENT_STATUS_RULES.map(({ status, when, meaning, reasons }) => [
    `\`${status}\``,
    when,
    meaning,
    code(reasons),
  ]),
)}

\`\`\`mermaid
stateDiagram-v2
    [*] --> AWAITING_DATABASE: Created
    [*] --> UNUSED: Created without image
${arrows.join('\n')}
${restored.map((to) => `    AWAITING_DELETE --> ${to}: Restored`).join('\n')}
    AWAITING_DELETE --> [*]: Deleted or Forgotten
\`\`\`
`;
}

const MAX_REASONS = 2;

function arrow({ from, to, reasons }: RevisionTransition): string {
  const label = reasons.length > MAX_REASONS ? '' : `: ${reasons.join(', ')}`;
  return `    ${from} --> ${to}${label}`;
}

function revisions(): string {
  const ends = REVISION_STATUSES.filter(isTerminalStatus).map((status) => `    ${status} --> [*]`);
  return `## Revision

${table(
  ['status', 'meaning'],
  REVISION_STATUSES.map((status) => [
    `\`${status}\`${isTerminalStatus(status) ? ' (final)' : ''}`,
    REVISION_MEANINGS[status],
  ]),
)}

\`\`\`mermaid
stateDiagram-v2
    [*] --> CREATING
    [*] --> QUEUED
${[...REVISION_TRANSITIONS.map(arrow), ...ends].join('\n')}
\`\`\`

${table(
  ['from', 'to', 'by', 'reasons'],
  REVISION_TRANSITIONS.map(({ from, to, by, reasons }) => [
    `\`${from}\``,
    `\`${to}\``,
    by.join(', '),
    code(reasons),
  ]),
)}

The column \`by\` contains the source of the change:

${Object.entries(MOVERS)
  .map(([mover, text]) => `- ${mover}: ${text}`)
  .join('\n')}
`;
}

function conditions(): string {
  return `## Conditions

The custom resource and the API show these conditions. \`kubectl wait --for=condition=Ready mdep/NAME\` waits for a condition
([custom-resource.md](custom-resource.md#wait-for-a-result)).

${table(
  ['condition', 'meaning'],
  Object.entries(CONDITION_TYPES).map(([type, text]) => [`\`${type}\``, text]),
)}
`;
}

/** Fields that the cluster can reject, and how to restore an accepted value. */
function recoveries(): string {
  const names = (fields: readonly string[]) => fields.map((field) => `\`${field}\``).join(', ');
  return `## Undo a change that the cluster rejects

The API validates the form of a value. The cluster can still reject the value, or never finish the change. Berth always accepts the value that was in effect before. Berth also accepts the previous value in a resource that is applied by hand with kubectl. Fields without a prefix belong to
resource_spec.

${table(
  ['fields', 'how the cluster can reject a value', 'reported reasons', 'how to undo the change'],
  FIELD_RECOVERIES.map(({ fields, refused, reasons, back }) => [names(fields), refused, code(reasons), back]),
)}
`;
}

/** All reasons, each with what it means. */
function reasons(): string {
  return `## Reasons

The list is closed. Events of the history can have the reasons with \`yes\` in the column *event*, and the filter \`reason\` of event lists
accepts these. Only conditions and Kubernetes Events have the others.

${table(
  ['reason', 'event', 'meaning'],
  Object.entries(REASONS).map(([reason, text]) => [
    `\`${reason}\``,
    isEventReason(reason) ? 'yes' : 'no',
    text,
  ]),
)}
`;
}

/** The current text of the page. */
export function lifecycleDoc(): string {
  return [HEAD, deployments(), revisions(), conditions(), failures(), PAUSE, recoveries(), reasons()].join(
    '\n',
  );
}
