/** The text of docs/lifecycle.md: the state machines, drawn from their data. `npm run docs` writes it. */
import { CONDITION_TYPES, REASONS, type Reason } from '../src/domain/conditions.ts';
import {
  DEPLOYMENT_STATUS_RULES,
  isTerminal,
  MOVERS,
  REVISION_MEANINGS,
  REVISION_STATUSES,
  REVISION_WAYS,
  type RevisionTransition,
} from '../src/domain/states.ts';

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
listener purges it like any other.

## The way in

\`BERTH_ROUTING\` says what a URL becomes: an Ingress, an HTTPRoute of the Gateway API, or nothing. \`url\` in the API and
in the status is read from the route that is in the cluster, never from what is wanted:

- an Ingress counts as there once it exists; not every controller says more;
- an HTTPRoute counts as there once the Gateway of its parentRef says \`Accepted\` of its present spec. While no
  controller says anything, there is no URL: nothing would answer.

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
  return [HEAD, deployments(), revisions(), conditions(), PAUSE, reasons()].join('\n');
}
