import type { Reason } from './conditions.ts';
import type { Remedy } from './remedies.ts';
import { remedyOf } from './remedies.ts';
import { memoryLimitField } from './remedy-for.ts';
import type { ReportedSymptom } from './symptoms.ts';

/**
 * What to do about each symptom of running pods. Nothing has failed for good outside of a rollout: the pods start by
 * themselves, so none of these asks for a redeploy unless the image or a setting has to change.
 */

const BY_ITSELF = 'The pods start by themselves after that; the active revision has not changed.';

/** For pods of the app. */
const OF_COMPONENTS: Partial<Record<Reason, string>> = {
  InvalidImageName: `PATCH source_revision_config.image_uri (or the image of the container that the message names, in source_config.resource_spec) to a valid name.`,
  ImagePullFailed: `Check that the image still exists in its registry under exactly this name, tag or digest, and that the cluster may pull it: source_config.resource_spec.image_pull_secrets names a Secret with the registry's credentials, which may have expired. Push the same image again or renew the credentials. ${BY_ITSELF} If the image is gone for good: PATCH source_revision_config.image_uri.`,
  ContainerConfigInvalid: `Make the Secret, ConfigMap or key that the message names again, in the deployment's namespace, or PATCH the field that refers to it. ${BY_ITSELF}`,
  CrashLoop:
    'The container ends by itself: its exit code and its last words are in the message, more is in GET …/logs. Check what it depends on (secrets, services outside of the deployment); if the image is at fault, PATCH source_revision_config.image_uri, or POST …/revisions/{id}/rollback to a revision that worked. The cluster restarts it until it runs.',
  Unschedulable: `Ask those who run the cluster for room, or ask for less: cpu, memory_mb, scales of source_config.resource_spec. The message says what the nodes lack. A pod that waits starts by itself once a node has room; the active revision has not changed.`,
  QuotaExceeded: `No further pod fits into the quota of the namespace; pods that run are not touched. Lower max_scale, cpu or memory_mb of source_config.resource_spec, free what others use in the namespace, or ask those who run the platform for more (GET /v2/usage shows the quotas of the tenant). ${BY_ITSELF}`,
  AdmissionRefused: `A rule of the cluster refuses new pods, while older ones may run on: it is newer than they are, or its webhook does not answer. Ask those who run the cluster about the rule that the message names, or PATCH the field that it names, in source_config.resource_spec. ${BY_ITSELF}`,
  MountFailed: `Make the Secret, ConfigMap or PersistentVolumeClaim that the message names again, in the deployment's namespace, or PATCH the field that names it, in source_config.resource_spec.volumes. A volume that is still attached to another node is freed when the pod there has ended. ${BY_ITSELF}`,
  ReadinessFailed:
    'A pod runs, but does not answer its probe: check the log of the app (GET …/logs), what it depends on, and whether it has enough cpu and memory_mb. It gets requests again as soon as it answers.',
};

const NODE_LOST =
  'The node of the pod does not answer. After some minutes the cluster gives the pod up and starts another one elsewhere. If that does not happen, or the pod is of the database, ask those who run the cluster to bring the node back or to remove it (kubectl delete node NAME).';

const OUT_OF_MEMORY = (field: string) =>
  `The container used more memory than its limit and was ended (OOMKilled). PATCH ${field} to a higher value, or make the container use less. The cluster restarts it meanwhile.`;

/** For database and cache, whose images and commands belong to the platform. */
const OF_SERVICES: Partial<Record<Reason, (field: string) => string>> = {
  CrashLoop: (field) =>
    `It ends by itself; its exit code and last words are in the message. The cluster restarts it. If that does not help, give the message to those who run the platform; too little memory is raised with ${field}_memory_mb.`,
  ImagePullFailed: () =>
    'The cluster cannot pull the image of the platform: those who run the platform have to look at the registry that the message names.',
  QuotaExceeded: (field) =>
    `The quota of the namespace has no room for its pod: free what others use there, lower ${field}_cpu or ${field}_memory_mb, or ask those who run the platform for more.`,
  Unschedulable: (field) =>
    `No node has room for its pod, or none that its volume can be attached to: ask those who run the cluster for room, or lower ${field}_cpu or ${field}_memory_mb.`,
};

const SERVICE_OUT_OF_MEMORY = (field: string) =>
  `It used more memory than its limit and was ended (OOMKilled): PATCH source_config.resource_spec.${field}_memory_mb to a higher value. The cluster restarts it meanwhile.`;

const SERVICE_FIELDS: Readonly<Record<string, string>> = { database: 'db', cache: 'cache' };

/** The remedy of a symptom of running pods; of a reason that is not of the closed list: null. */
export function symptomRemedyOf(
  symptom: Pick<ReportedSymptom, 'component' | 'reason' | 'message' | 'culprit'>,
): Remedy | null {
  const { component, reason, message, culprit } = symptom;
  if (reason === ('NodeLost' satisfies Reason)) return { kind: 'act', text: NODE_LOST };
  const field = SERVICE_FIELDS[component];
  const isOutOfMemory = reason === ('CrashLoop' satisfies Reason) && message.includes('OOMKilled');
  if (isOutOfMemory) {
    if (field !== undefined) return { kind: 'act', text: SERVICE_OUT_OF_MEMORY(field) };
    const { container, container_kind: containerKind } = culprit ?? {};
    const limit = memoryLimitField({ reason, message, component, container, containerKind });
    return { kind: 'act', text: OUT_OF_MEMORY(limit) };
  }
  const text = field === undefined ? textOf(OF_COMPONENTS, reason) : textOf(OF_SERVICES, reason)?.(field);
  return text === undefined ? remedyOf(reason) : { kind: 'act', text };
}

function textOf<Text>(texts: Partial<Record<Reason, Text>>, reason: string): Text | undefined {
  return Object.hasOwn(texts, reason) ? texts[reason as Reason] : undefined;
}
