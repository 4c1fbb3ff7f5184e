import type { Reason } from './conditions.ts';
import type { Remedy } from './remedies.ts';
import { remedyOf } from './remedies.ts';
import { causeText, memoryLimitField } from './remedy-for.ts';
import type { ReportedSymptom } from './symptoms.ts';

/**
 * The remedy of each symptom of running pods. Outside of a rollout, no failure is final. The pods start again without
 * intervention, so no remedy requires a redeploy unless the image or a setting has to change.
 */

const BY_ITSELF = 'The pods then start without further action. The active revision has not changed.';

/** Remedies for pods of the app. */
const OF_COMPONENTS: Partial<Record<Reason, string>> = {
  InvalidImageName: `PATCH source_revision_config.image_uri (or the image of the container that the message names, in source_config.resource_spec) to a valid name.`,
  ImagePullFailed: `Check that the image still exists in its registry under exactly this name, tag or digest, and that the cluster can pull it: source_config.resource_spec.image_pull_secrets names a Secret with the credentials for the registry, which may have expired. Push the same image again or renew the credentials. ${BY_ITSELF} If the image cannot be pushed again, PATCH source_revision_config.image_uri.`,
  ContainerConfigInvalid: `Create the Secret, ConfigMap or key that the message names again, in the namespace of the deployment, or PATCH the field that refers to it. ${BY_ITSELF}`,
  CrashLoop:
    'The container ends by itself. The message contains the exit code and the last output of the container, and GET ' +
    '…/logs shows more. Check the dependencies of the container (secrets, services outside of the deployment). If ' +
    'the image is ' +
    'the cause, PATCH source_revision_config.image_uri, or use POST …/revisions/{id}/rollback to return to a ' +
    'revision that worked. The cluster restarts the container until it runs.',
  Unschedulable:
    `Ask the administrator of the cluster for more capacity, or request less: cpu, memory_mb, scales of ` +
    `source_config.resource_spec. The message names the resources that the nodes lack. A waiting pod starts when a ` +
    `node has enough resources. The active revision has not changed.`,
  QuotaExceeded:
    `The quota of the namespace allows no more pods. Running pods do not change. Lower max_scale, cpu ` +
    `or memory_mb of source_config.resource_spec, reduce the usage of others in the namespace, or ask the ` +
    `administrator of the platform for a larger quota (GET /v2/usage shows the quotas of the tenant). ${BY_ITSELF}`,
  AdmissionRefused:
    `A rule of the cluster rejects new pods. Older pods may keep running, because the rule was added ` +
    `later, or because its webhook does not respond. Ask the administrator of the cluster about the rule that the ` +
    `message names, or PATCH the field that it names, in source_config.resource_spec. ${BY_ITSELF}`,
  MountFailed:
    `Create the Secret, ConfigMap or PersistentVolumeClaim that the message names again, in the namespace ` +
    `of the deployment, or PATCH the field that refers to it, in source_config.resource_spec.volumes. A volume that ` +
    `is still attached to another node is detached when the pod on that node has ended. ${BY_ITSELF}`,
  ReadinessFailed:
    'A pod runs, but does not respond to its probe. Check the log of the app (GET …/logs), the dependencies of the ' +
    'app, and whether it has enough cpu and memory_mb. The pod gets requests again as soon as it responds.',
};

interface Cause {
  readonly reason: Reason;
  readonly said: RegExp;
  readonly text: string;
}

/** Remedies for a cause that the message names. The first match is used. */
const CAUSES: readonly Cause[] = [
  {
    reason: 'ImagePullFailed',
    said: /manifest unknown|not found|no such image|name unknown/i,
    text:
      `The registry no longer has this image. Push the same image again, or PATCH ` +
      `source_revision_config.image_uri (or the image of the container that the message names) to an image that ` +
      `exists. ${BY_ITSELF}`,
  },
  {
    reason: 'ImagePullFailed',
    said: /unauthorized|denied|forbidden|authentication required|no basic auth credentials/i,
    text:
      `The registry rejects the credentials of the cluster. Renew the credentials in the Secret that ` +
      `source_config.resource_spec.image_pull_secrets names, or name another Secret in this field. ${BY_ITSELF}`,
  },
  {
    reason: 'ImagePullFailed',
    said: /no such host|i\/o timeout|connection refused|TLS handshake|x509|no route to host/i,
    text:
      `The nodes cannot reach the registry. Ask the administrator of the cluster about its network, name ` +
      `resolution or certificates. ${BY_ITSELF}`,
  },
];

/** A container that the cluster ended because its health check failed. */
const ENDED_BY_CHECK = /last health check: /i;

const NODE_LOST =
  'The node of the pod does not respond. After some minutes, the cluster replaces the pod on another node. If this ' +
  'does not happen, or if it is the pod of the database, ask the administrator of the cluster to repair the node ' +
  'or to remove it (kubectl delete node NAME).';

const OUT_OF_MEMORY = (field: string) =>
  `The container used more memory than its limit and was killed (OOMKilled). PATCH ${field} to a higher value, or ` +
  `make the container use less. The cluster keeps restarting the container.`;

/** Remedies for database and cache, whose images and commands belong to the platform. */
const OF_SERVICES: Partial<Record<Reason, (field: string) => string>> = {
  CrashLoop: (field) =>
    `The container ends by itself. The message contains the exit code and the last output of the container. The ` +
    `cluster restarts the container. If ` +
    `this does not help, give the message to the administrator of the platform. If the container needs more ` +
    `memory, raise ${field}_memory_mb.`,
  ImagePullFailed: () =>
    'The cluster cannot pull the image of the platform. The administrator of the platform has to check the registry that the message names.',
  QuotaExceeded: (field) =>
    `The quota of the namespace does not allow its pod. Reduce the usage of others in the namespace, lower ` +
    `${field}_cpu or ${field}_memory_mb, or ask the administrator of the platform for a larger quota.`,
  Unschedulable: (field) =>
    `No node to which its volume can be attached has enough resources for its pod. Ask the administrator of the ` +
    `cluster for more capacity, or lower ${field}_cpu or ${field}_memory_mb.`,
};

const SERVICE_OUT_OF_MEMORY = (field: string) =>
  `The container used more memory than its limit and was killed (OOMKilled). PATCH ` +
  `source_config.resource_spec.${field}_memory_mb to a higher value. The cluster keeps restarting the container.`;

const SERVICE_FIELDS: Readonly<Record<string, string>> = { database: 'db', cache: 'cache' };

type Symptom = Pick<ReportedSymptom, 'component' | 'reason' | 'message' | 'failureSource'>;

/** The remedy of a symptom of running pods. null for a reason outside the closed list. */
export function symptomRemedyOf(symptom: Symptom): Remedy | null {
  const { component, reason, message, failureSource } = symptom;
  if (reason === ('NodeLost' satisfies Reason)) return { kind: 'act', text: NODE_LOST };
  const field = SERVICE_FIELDS[component];
  const isOutOfMemory = reason === ('CrashLoop' satisfies Reason) && message.includes('OOMKilled');
  if (isOutOfMemory) {
    if (field !== undefined) return { kind: 'act', text: SERVICE_OUT_OF_MEMORY(field) };
    const { container, container_kind: containerKind } = failureSource ?? {};
    const limit = memoryLimitField({ reason, message, component, container, containerKind });
    return { kind: 'act', text: OUT_OF_MEMORY(limit) };
  }
  const found = textOfCause(symptom);
  if (found !== null && COMPLETE.has(reason)) return { kind: 'act', text: found };
  const general = generalText({ reason, message, field });
  if (general === null) return remedyOf(reason);
  return { kind: 'act', text: found === null ? general : `${found} ${general}` };
}

/** Reasons for which the remedy of a cause is complete. The general remedy is about other causes. */
const COMPLETE: ReadonlySet<string> = new Set<Reason>([
  'Unschedulable',
  'QuotaExceeded',
  'ReadinessFailed',
  'MountFailed',
  'CrashLoop',
]);

/** What happens after the remedy of a cause. */
const AFTERWARDS: Partial<Record<Reason, string>> = {
  QuotaExceeded: BY_ITSELF,
  MountFailed: BY_ITSELF,
  ReadinessFailed: 'The pod gets requests again as soon as its check succeeds.',
  CrashLoop: 'The cluster restarts the container until its check succeeds.',
};

/** The remedy of the cause that the message shows; null: the message shows none. */
function textOfCause(symptom: Symptom): string | null {
  const { component, reason, message, failureSource } = symptom;
  // The other causes of a crash belong to an image that never worked.
  if (reason === ('CrashLoop' satisfies Reason) && !ENDED_BY_CHECK.test(message)) return null;
  // No field configures the probes of database and cache.
  if (reason === ('ReadinessFailed' satisfies Reason) && SERVICE_FIELDS[component] !== undefined) return null;
  const { container, container_kind: containerKind, field } = failureSource ?? {};
  const found = causeText({ reason, message, component, container, containerKind, field });
  return found === null ? null : [found, textOf(AFTERWARDS, reason) ?? []].flat().join(' ');
}

/** @param field the prefix of the fields of a data service; undefined: a component of the app */
function generalText({
  reason,
  message,
  field,
}: Pick<Symptom, 'reason' | 'message'> & { readonly field: string | undefined }): string | null {
  if (field !== undefined) return textOf(OF_SERVICES, reason)?.(field) ?? null;
  const cause = CAUSES.find((each) => each.reason === reason && each.said.test(message));
  return cause?.text ?? textOf(OF_COMPONENTS, reason) ?? null;
}

function textOf<Text>(texts: Partial<Record<Reason, Text>>, reason: string): Text | undefined {
  return Object.hasOwn(texts, reason) ? texts[reason as Reason] : undefined;
}
