/** What the API server does to the fields that Berth writes; source: the OpenAPI document of Kubernetes 1.36. */

/** Keys of lists that server-side apply merges by key (`x-kubernetes-list-map-keys`); all others are replaced whole. */
const LIST_KEYS: Readonly<Record<string, readonly (readonly string[])[]>> = {
  containers: [['name']],
  initContainers: [['name']],
  ephemeralContainers: [['name']],
  env: [['name']],
  volumes: [['name']],
  volumeMounts: [['mountPath']],
  volumeDevices: [['devicePath']],
  // Of a container, or of a Service.
  ports: [
    ['containerPort', 'protocol'],
    ['port', 'protocol'],
  ],
  imagePullSecrets: [['name']],
  hostAliases: [['ip']],
  topologySpreadConstraints: [['topologyKey', 'whenUnsatisfiable']],
  conditions: [['type']],
  ownerReferences: [['uid']],
  resourceClaims: [['name']],
  schedulingGates: [['name']],
};

/** What the API server fills in for a part of a key before it merges. */
const KEY_DEFAULTS: Readonly<Record<string, string>> = { protocol: 'TCP' };

/**
 * Fields that are applied as one (`x-kubernetes-map-type: atomic`, and the peers of a NetworkPolicy's rule): a key added
 * by somebody else changes whom they select, and an apply takes it out again. The server fills in nothing below them.
 */
export const ATOMIC_FIELDS: ReadonlySet<string> = new Set([
  'selector',
  'podSelector',
  'namespaceSelector',
  'labelSelector',
  'from',
  'to',
]);

/** Lists that are sets of strings. */
export const SET_LISTS: ReadonlySet<string> = new Set(['finalizers']);

/** Lists merged by key whose order means something: init containers run in it, variables may refer to earlier ones. */
export const ORDERED_LISTS: ReadonlySet<string> = new Set(['initContainers', 'env']);

/** Maps of strings or quantities: empty is the same as absent. Elsewhere `{}` says something (`emptyDir: {}`). */
export const PLAIN_MAPS: ReadonlySet<string> = new Set([
  'labels',
  'annotations',
  'matchLabels',
  'nodeSelector',
  'limits',
  'requests',
  'data',
  'stringData',
  'binaryData',
  'volumeAttributes',
]);

/** Fields that are gone from the stored object when they are false or 0 (no pointer, `omitempty`). */
export const DROPPED_WHEN_ZERO: ReadonlySet<string> = new Set([
  'readOnly',
  'hostNetwork',
  'hostPID',
  'hostIPC',
  'stdin',
  'stdinOnce',
  'tty',
  'paused',
  'publishNotReadyAddresses',
  'initialDelaySeconds',
  'minReadySeconds',
  'hostPort',
  'nodePort',
]);

const QUANTITY_PARENTS: ReadonlySet<string> = new Set(['limits', 'requests', 'capacity', 'hard']);
const QUANTITY_FIELDS: ReadonlySet<string> = new Set(['sizeLimit', 'divisor', 'averageValue']);

/** Whether the value at `…parent.field` is a Kubernetes quantity. */
export function isQuantity(parent: string, field: string): boolean {
  return (
    QUANTITY_PARENTS.has(parent) || QUANTITY_FIELDS.has(field) || (parent === 'target' && field === 'value')
  );
}

/** Lists (`parent.field`) that are replaced whole although others of their name are merged: NetworkPolicy, ServiceAccount. */
const WHOLE_LISTS: ReadonlySet<string> = new Set(['ingress.ports', 'egress.ports', '.imagePullSecrets']);

/** Merge keys of the list at `…parent.field` that all its items have; undefined for a list that is replaced whole. */
export function mergeKeysOf(
  parent: string,
  field: string,
  items: readonly Readonly<Record<string, unknown>>[],
): readonly string[] | undefined {
  if (WHOLE_LISTS.has(`${parent}.${field}`)) return undefined;
  return LIST_KEYS[field]?.find((keys) =>
    items.every((item) => keys.every((key) => item[key] !== undefined || KEY_DEFAULTS[key] !== undefined)),
  );
}

/** `name=app`, `containerPort=80,protocol=TCP`: an item's place in a merged list. */
export function mergeKeyText(keys: readonly string[], item: Readonly<Record<string, unknown>>): string {
  return keys.map((key) => `${key}=${String(item[key] ?? KEY_DEFAULTS[key])}`).join(',');
}

/** Strings that may be shown in a difference; any other may hold a secret. */
export const SHOWN_FIELDS: ReadonlySet<string> = new Set([
  'image',
  'imagePullPolicy',
  'restartPolicy',
  'serviceAccountName',
  'type',
  'kind',
  'name',
  'port',
  'targetPort',
  'protocol',
  'maxSurge',
  'maxUnavailable',
  'storage',
  'cpu',
  'memory',
  'storageClassName',
  'ingressClassName',
  'host',
]);

/** Server's own part of metadata, and preconditions: never a difference, never in a hash. */
export const SERVER_METADATA: ReadonlySet<string> = new Set([
  'uid',
  'resourceVersion',
  'generation',
  'creationTimestamp',
  'deletionTimestamp',
  'deletionGracePeriodSeconds',
  'managedFields',
  'selfLink',
]);

/** What a container runs. Where we say nothing of it, the image decides; a value that somebody adds changes that. */
export const PROGRAM_FIELDS = ['command', 'args', 'workingDir'] as const;
