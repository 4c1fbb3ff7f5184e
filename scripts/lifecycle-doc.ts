/** The text of docs/lifecycle.md: the state machines, drawn from their data. `npm run docs` writes it. */

import { CONDITION_TYPES, REASONS, type Reason, TROUBLES } from '../src/domain/conditions.ts';
import {
  DEPLOYMENT_STATUS_RULES,
  isTerminal,
  MOVERS,
  REVISION_MEANINGS,
  REVISION_STATUSES,
  REVISION_WAYS,
  type RevisionTransition,
} from '../src/domain/states.ts';
import { WAYS_BACK } from '../src/domain/ways-back.ts';
import { DEFAULT_PATIENCE, FAILURE_RULES, type Lasts } from '../src/operator/failure-rules.ts';

const HEAD = `<!-- Generated from src/domain/states.ts and src/domain/conditions.ts by \`npm run docs\`. Do not edit. -->
# States

Every change of a state leaves an event row with the state before, the state after and the reason, in the same
transaction: \`GET /v2/deployments/{id}/events\`, \`details.from\` and \`details.to\` (of the deployment's status where the
event names no revision, else of that revision). A request that makes a revision tells both in one row:
\`details.status\` and \`details.revision_status\`. Each row begins where the one before ended.

What the cluster does is told as Kubernetes Events on the ManagedDeployment too, with the reasons of the conditions
below: \`kubectl describe mdep NAME\`. Equal ones are counted up. What only the hub knows (QUEUED, SKIPPED, UNKNOWN)
happens to the record, not to the custom resource, and is in the event rows alone.
`;

const PAUSE = `## Pause

The annotation \`berth.dev/paused: "true"\` on the custom resource stops the operator: it writes nothing but the status,
which goes on telling what is seen, with the condition \`Paused\` here and in the API. The time of a pause does not count
for the deadline of a rollout. Without the annotation the operator goes on with what is wanted by then (Event
\`Resumed\`). Deletion does not wait for it: pods of one that is deleted while paused run on for the grace, then the
listener purges it like any other. A pause is for the operator; who wants to keep a deployment restores it.

\`kubectl rollout pause\` of one of the Deployments holds nothing: the operator takes it back like any other change by hand
(while the annotation is set it stays, as all does). A paused Deployment would follow no change and no way back, and
nothing would say why.

## On its way out

Within the grace the custom resource carries \`spec.deletion\` with \`requestedAt\` and \`restorableUntil\`: \`kubectl get
mdep\` shows \`AWAITING_DELETE\` with the reason \`DeletionRequested\`, \`-o wide\` until when it can be restored, and
\`Ready\` says both in a sentence, as in the API. Restored, it tells the Event \`Restored\`. Once the resource itself is
being deleted, by the listener or by hand, it is \`AWAITING_DELETE\` with the reason \`BeingDeleted\`, which names
finalizers that hold it; all other conditions are \`Unknown\`, because the resource is no longer observed. One that was deleted by hand
comes back with its data and its active revision.

A resource without a record that was deleted by mistake and is applied again under its name finds its volume, its credentials and its
active revision. They stay when it is deleted again, whatever its \`volumePolicy\`, because they carry the uid of the former resource.
What a deployment of the hub left (\`keep_workloads\`), or what was left with running workloads, is not used by another resource of the name:
\`Ready\` is \`False\` with the reason \`Conflict\` and names the objects.

The grace is \`BERTH_DELETION_GRACE\` (default: none). While it lasts nothing runs and the route is away; volume, Secrets
and stored templates stay. \`POST /v2/deployments/{id}/restore\` takes the deletion back: it comes up again with its data
and its active revision. Until when that is possible stands in \`Ready\`, in \`explain\` and on the custom resource. What
others may have taken meanwhile:

- the host of custom_url is free for others, of any tenant, once the route is seen to be gone. If somebody has it, the
  deployment is restored without a URL: custom_url is null, and the event \`Restored\` names the one that it had
  (\`details.lost_custom_url\`). While somebody is only giving it up, restore is a 409 for a
  moment, but not in the last ten minutes of the grace;
- its name is free within the tenant at once. If another deployment has it, restore is a 409 until that one is deleted;
- what it takes of the tenant's quotas. If there is no room, restore is a 400 with the numbers.

At the end of the grace everything of it is removed from the cluster, unasked, and then the record.

The certificate that cert-manager has made for a host (Secret \`<app>-tls\`) goes some seconds after the route when
custom_url is cleared or gets another host, and in the grace; it is asked for anew when the host comes back.

## Pods that fail outside of a rollout

The rules above also name what is wrong with pods of the active revision when no rollout is under way: after a scale-up (by
an autoscaler, by kubectl or by source_config), when a pod was deleted or evicted, when its node is lost, and after a
rollback. The reason is named within seconds; the patience and the deadline of the table do not apply, because nothing
fails: the revision stays DEPLOYED and active, nothing is rolled back, and the cluster starts the pods as soon as it can.

- \`Ready\` is False with the reason and the source: component, pod, container, exit code, and the field that leads there.
  Of several causes it names all, and has the reason of the first. \`Serving\` says whether an api pod is available.
- \`GET …/revisions/{id}/explain\` of the active revision names the source part by part and has a remedy of its own.
- Each component and reason leaves one row of the history and one Event of the type Warning, however often a container
  restarts and however many pods have the same symptom. The row \`Recovered\` and an Event say when it is over.
- \`status.symptoms\` of the custom resource lists them.

\`Ready\` is True again as soon as all pods are available. A symptom is over at that moment, with two exceptions. A
container that has failed counts as recovered once it has run for 30 seconds, doubled with each restart, up to 10 minutes;
a failing readiness probe is recorded after a minute, and is over 30 seconds after the last failure. A container that runs
for a while between its failures is therefore one entry. So is a sidecar that restarts while its pod stays ready.

\`NodeLost\` says that the node of a pod does not answer. The cluster replaces pods of the app after some minutes; a pod of
the database is replaced only when the node is back or is removed.

A database or cache that was ready and fails gets the same: the reason of its pod in \`Ready\`, a row, a warning and a
remedy. Its own condition and the status of the deployment follow the next section.

## A database or cache that fails later

\`DatabaseReady\` (\`CacheReady\`) is False with the reason \`DatabaseUnavailable\` (\`CacheUnavailable\`) and the pod and its
trouble by name, and the deployment is \`AWAITING_DATABASE\` again: READY is said of data services that answer now. What
serves is not touched, \`Serving\` and the active revision stay; a revision that is asked for meanwhile is rolled out, for
it may be what mends it. READY comes back by itself. \`DatabaseStarting\` is the word of one that starts, or that is
replaced because its size was changed. A StatefulSet that somebody scales is put back.

## A volume that grows, or does not

A larger db_storage_gi grows the volume in place, without a restart. Meanwhile \`DatabaseReady\` is True with the reason
\`VolumeResizing\` and what the claim says of it (\`FileSystemResizePending\`, \`ControllerResizeError\` …); \`Ready\` waits for
the end.

If the cluster refuses, \`Ready\` is False with what it is: \`VolumeNotExpandable\` (the storage class lets no volume grow;
\`DatabaseReady\` says so too, and the deployment is \`READY\` all the same), \`QuotaExceeded\`, or \`Refused\` (an admission rule,
missing rights). The growth is tried again, every five minutes at the most seldom. Nothing else waits for it: revisions
roll out and become active, and if one fails, \`Ready\` tells of that first. There are two ways out: those who run the
cluster let it grow, or a PATCH takes db_storage_gi back. An expansion that is refused, or does not finish, may be lowered
to any size down to the capacity of the volume; less is a 400 (\`storage_shrinks\`) that names the capacity. So it is for a
resource written by hand, by the rule of the custom resource definition.

- Above the capacity Berth lowers the claim, which Kubernetes allows since 1.32 (RecoverVolumeExpansionFailure). Before
  1.32 Kubernetes refuses that (\`Refused\`); the capacity itself is a way back there as well.
- At the capacity Kubernetes does not lower the claim, so Berth leaves it as it is. Nothing is reported as failed any more,
  and \`DatabaseReady\` says that the claim still asks for more. If the storage system succeeds later, the volume is larger
  than db_storage_gi; that is said too, and the larger size counts for the quotas of the tenant.
- Where the provider rounds up, the capacity is what it gave. A size between db_storage_gi and the capacity needs no
  expansion.
- A deployment whose claim the cluster refuses, or cannot provide (an Event says why), has no volume: any size is accepted.
- A listener or operator of an earlier version reports no capacity of an expansion that does not finish. Then any smaller
  size is accepted while \`VolumeResizing\` is reported: the operator shrinks no volume, whatever db_storage_gi says.

While the database is the tenant's own (\`DATABASE_URI_CUSTOM\`), db_storage_gi is the size of no volume: it may be lowered as
far as to the volume that is kept of the time before, or to anything where there is none.

Until then \`observed_generation\` stays where it is and \`remote_reconciled\` is false.

A volume claim that somebody deletes goes as soon as no pod uses it, and the data with it. So the database is then
neither restarted nor stopped nor removed, whatever else is asked for: \`VolumeBeingDeleted\`, with the commands that save
the data. The deployment stays \`READY\`; switched off, it waits.

## What is in effect

\`observed_generation\` is the last generation of which everything was there, and \`remote_reconciled\` says that it is the
wanted one: the cluster runs what is wanted, all of it. Until the first revision is active nothing older can be in effect,
so it moves at once: also with a first revision that failed, or has not begun. A later revision that failed, a change that
was turned back, a volume that is not let grow: each holds it where it was, whatever else of a later generation is in effect.
What runs is said by \`active_revision_id\`, what is missing by \`Ready\`.

## What serves while something else is wanted

After a revision has failed the active one is back with the templates, the components and the pods that it had. What
source_config came with the failed one is not in effect: \`Progressing\` says so. The next change of source_config rolls out
in place, of the active revision; if it fails, that one is turned back again, and both failures are told. The failed
revision stays failed.

A revision that brings a database or cache of its own to an app that used an external one waits until that answers
(\`AwaitingDataServices\`). The active one is scaled, mended and routed meanwhile, and the deployment is \`READY\`:
\`DatabaseReady\` speaks of the database of what serves. After \`BERTH_PROGRESS_DEADLINE_SECONDS\` the revision has failed;
\`redeploy\` tries it again. The very first revision waits for as long as it takes.

The deadline of a rollout counts from the first templates of its revision, or of a chain of changes in place: changes on
the way do not put it off.

## The way in

\`BERTH_ROUTING\` says what a URL becomes: an Ingress, an HTTPRoute of the Gateway API, or nothing. \`url\` in the API and
in the status is read from the route that is in the cluster, never from what is wanted:

- an Ingress counts as there once it exists; not every controller says more;
- an HTTPRoute counts as there once the Gateway of its parentRef says \`Accepted\` of its present spec. While no
  controller says anything, there is no URL: nothing would answer.

The route follows custom_url at once, also while a rollout fails or waits. Another deployment gets a host when no
route object of the former one has it any more, neither one that a finalizer holds nor one that is not accepted at the
moment (\`status.routes\` of the custom resource lists them), and a 409 that says so until then. What left with
keep_workloads keeps its host from other tenants: see \`force\` of the deletion.

When the kind is changed, the former route stays until the new one is there. A cluster without the Gateway API tells
\`RouteUnsupported\`; everything else comes up, and an API that is installed later is noticed within half a minute.
\`RouteReady\` is part of \`Ready\`, not of \`Serving\`: a revision becomes active without it.
`;

/** Table cells: a bar would end them. */
function row(...cells: readonly string[]): string {
  return `| ${cells.map((text) => text.replaceAll('|', '\\|')).join(' | ')} |`;
}

function table(head: readonly string[], rows: readonly string[][]): string {
  return [row(...head), row(...head.map(() => '---')), ...rows.map((cells) => row(...cells))].join('\n');
}

function lastsFor(lasts: Lasts): string {
  if (lasts === 'not at all') return 'at once';
  if (lasts === 'until the deadline') return 'at the deadline';
  if (lasts === 'as long as it is seen')
    return 'at the deadline if there is other trouble; else the deadline is put off';
  const seconds = DEFAULT_PATIENCE[lasts.patience] / 1000;
  return `after ${seconds} s${lasts.from === 'scheduledAt' ? ' on its node' : ''}`;
}

function failures(): string {
  return `## What fails a rollout, and when

A rollout has arrived when every component has all of its pods updated and available. The first line that fits what is
seen of a pod, or of what makes pods, tells what it is called and when it is a failure:

${table(
  ['seen', 'reason', 'a failure'],
  FAILURE_RULES.map(({ seen, reason, lasts }) => [seen, `\`${reason}\``, lastsFor(lasts)]),
)}

The deadline is \`BERTH_PROGRESS_DEADLINE_SECONDS\` from the begin of the rollout, less the time of a pause. Where nothing
has a name by then, the reason is \`RolloutDeadlineExceeded\`. What the cluster refuses as an object (an admission rule, a
field) fails at once with \`AdmissionRefused\`.

Meanwhile trouble that may pass is told in \`Ready\` by its name, within seconds. These reasons leave a row of the history
and an Event of the type Warning whenever they come up, in a rollout or not:
${code(TROUBLES)}.
Outside of a rollout every reason of the table does: see [Pods that fail outside of a rollout](#pods-that-fail-outside-of-a-rollout).

A pod ends only when its successor is available, so there are never fewer pods than wanted. There is one exception: a
component with one pod whose successor cannot start because the old pod uses its volume (access mode ReadWriteOncePod; or
ReadWriteOnce, where the successor is on another node). Then the old pod ends first, and the component has no pod until its
successor is available; a way back works the same. The Deployment has \`maxSurge: 0\`, \`maxUnavailable: 1\` for that long.
Where several pods or several components use such a volume, this would not help: the reason is reported, and the remedy of
\`explain\` names the volume. Remedies depend on the cause, as far as the cluster says it: which resource a node or a quota
lacks, whether an image is missing or its registry does not answer, what a volume waits for.

A failure is recorded first, then all components return together to what was active before, byte for byte: \`Progressing\`
says \`RolloutFailed\`, then \`RolledBack\`. If nothing was active before, one pod of each component stays to be looked at.
The revision is DEPLOY_FAILED for good, with its culprit; \`redeploy\` makes another one of the same content. A change of
source_config that fails leaves its revision DEPLOYED, a row of the history with the culprit, and its reason in \`Ready\`.
Nothing that failed is tried again by itself.

Of the Kubernetes Events about one deployment so many are written: warnings and ends of rollouts 50 at once and three a
minute, all else 25 at once and one a minute. \`EventsLeftOut\` tells that there were more, and counts them.
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

Derived, never set: the first line that applies wins. So any status may follow any other; what was deleted comes back
by restore only.

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

const MOST_REASONS = 2;

function arrow({ from, to, reasons }: RevisionTransition): string {
  const label = reasons.length > MOST_REASONS ? '' : `: ${reasons.join(', ')}`;
  return `    ${from} --> ${to}${label}`;
}

function revisions(): string {
  const ends = REVISION_STATUSES.filter(isTerminal).map((status) => `    ${status} --> [*]`);
  return `## Revision

${table(
  ['status', 'meaning'],
  REVISION_STATUSES.map((status) => [
    `\`${status}\`${isTerminal(status) ? ' (end)' : ''}`,
    REVISION_MEANINGS[status],
  ]),
)}

\`\`\`mermaid
stateDiagram-v2
    [*] --> CREATING
    [*] --> QUEUED
${[...REVISION_WAYS.map(arrow), ...ends].join('\n')}
\`\`\`

${table(
  ['from', 'to', 'by', 'reasons'],
  REVISION_WAYS.map(({ from, to, by, reasons }) => [
    `\`${from}\``,
    `\`${to}\``,
    by.join(', '),
    code(reasons),
  ]),
)}

Who moves it:

${Object.entries(MOVERS)
  .map(([mover, text]) => `- ${mover}: ${text}`)
  .join('\n')}
`;
}

function conditions(): string {
  return `## Conditions

On the custom resource and in the API. \`kubectl wait --for=condition=Ready mdep/NAME\` waits for one.

${table(
  ['condition', 'meaning'],
  Object.entries(CONDITION_TYPES).map(([type, text]) => [`\`${type}\``, text]),
)}
`;
}

/** Fields that the cluster can refuse, and how to take them back. */
function waysBack(): string {
  const names = (fields: readonly string[]) => fields.map((field) => `\`${field}\``).join(', ');
  return `## Ways back

The API accepts what has the right shape; the cluster may still refuse it, or never finish it. The value that was in effect
before is always accepted again, and so it is of a resource written by hand, with kubectl. Fields without a prefix are those
of resource_spec.

${table(
  ['fields', 'what the cluster refuses', 'reported', 'way back'],
  WAYS_BACK.map(({ fields, refused, reasons, back }) => [names(fields), refused, code(reasons), back]),
)}
`;
}

/** Reasons that a state or a condition may have, each with what it means. */
function reasons(): string {
  const named = new Set<Reason>([
    ...DEPLOYMENT_STATUS_RULES.flatMap((rule) => rule.reasons),
    ...REVISION_WAYS.flatMap((known) => known.reasons),
  ]);
  return `## Reasons of the states

${table(
  ['reason', 'meaning'],
  Object.entries(REASONS)
    .filter(([reason]) => named.has(reason as Reason))
    .map(([reason, text]) => [`\`${reason}\``, text]),
)}
`;
}

/** The text of the file as it should be. */
export function lifecycleDoc(): string {
  return [HEAD, deployments(), revisions(), conditions(), failures(), PAUSE, waysBack(), reasons()].join(
    '\n',
  );
}
