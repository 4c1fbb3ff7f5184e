/** How the API server treats the fields that Berth writes. Source: the OpenAPI document of Kubernetes 1.36. */

/**
 * Keys of lists that server-side apply merges by key (`x-kubernetes-list-map-keys`). All other lists are replaced as
 * a whole.
 */
const LIST_KEYS: Readonly<Record<string, readonly (readonly string[])[]>> = {
  containers: [['name']],
  initContainers: [['name']],
  ephemeralContainers: [['name']],
  env: [['name']],
  volumes: [['name']],
  volumeMounts: [['mountPath']],
  volumeDevices: [['devicePath']],
  // The ports of a container, or of a Service.
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

/** Defaults that the API server sets for a part of a key before it merges. */
const KEY_DEFAULTS: Readonly<Record<string, string>> = { protocol: 'TCP' };

/**
 * Fields that are applied as a whole (`x-kubernetes-map-type: atomic`, and the peers of a NetworkPolicy rule). A key
 * that another writer adds changes the selection, and an apply removes the key. The server sets no defaults below
 * fields that are applied as a whole.
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

/**
 * Lists that are merged by key and whose order matters. Init containers run in order, and variables may refer to
 * earlier variables.
 */
export const ORDERED_LISTS: ReadonlySet<string> = new Set(['initContainers', 'env']);

/**
 * Maps of strings or quantities for which an empty map equals an absent map. In other fields, `{}` has a meaning
 * (`emptyDir: {}`).
 */
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

/** Fields that the server omits when they are false or 0 (no pointer, `omitempty`). */
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

/**
 * Lists (`parent.field`) that are replaced as a whole, although lists of the same name in other kinds are merged:
 * NetworkPolicy, ServiceAccount.
 */
const WHOLE_LISTS: ReadonlySet<string> = new Set(['ingress.ports', 'egress.ports', '.imagePullSecrets']);

/**
 * The merge keys of the list at `…parent.field` that all its items have; undefined for a list that is replaced as a
 * whole.
 */
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

/** `name=app`, `containerPort=80,protocol=TCP`: identifies an item of a merged list. */
export function mergeKeyText(keys: readonly string[], item: Readonly<Record<string, unknown>>): string {
  return keys.map((key) => `${key}=${String(item[key] ?? KEY_DEFAULTS[key])}`).join(',');
}

/** Strings that may be shown in a difference. Any other string may be a secret. */
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

/** Metadata that the server sets, and preconditions, which are never part of a difference or a hash. */
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

/** Fields that the API server does not let change after creation. */
const IMMUTABLE: Readonly<Record<string, RegExp>> = {
  Deployment: /^spec\.selector\b/,
  StatefulSet: /^spec\.(?:selector|serviceName|podManagementPolicy|volumeClaimTemplates)\b/,
};

/** Whether the field can change only by recreating the object. */
export function isImmutable(
  { kind }: { readonly kind: string },
  { path }: { readonly path: string },
): boolean {
  return IMMUTABLE[kind]?.test(path) === true;
}
