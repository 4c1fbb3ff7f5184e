/** Other ways to write the same pod template, and small changes that make another one of it. */
import { parseImageReference } from '../../src/domain/kubernetes/image.ts';
import { parseQuantity } from '../../src/domain/kubernetes/quantity.ts';

/** `spec.podTemplate` of a custom resource, as plain JSON. */
export type Json = Record<string, unknown>;

/** A number of [0, below) at each call; the same ones for the same seed (mulberry32). */
export function dice(seed: number): (below: number) => number {
  let state = seed | 0;
  return (below) => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) % below;
  };
}

type Roll = ReturnType<typeof dice>;
const NANO = 10n ** 9n;
const UNITS: readonly (readonly [string, bigint])[] = [
  ['n', 1n],
  ['u', 10n ** 3n],
  ['m', 10n ** 6n],
  ['', NANO],
  ['e0', NANO],
  ['k', 10n ** 12n],
  ['e3', 10n ** 12n],
  ['M', 10n ** 15n],
  ['Ki', NANO << 10n],
  ['Mi', NANO << 20n],
  ['Gi', NANO << 30n],
];

/** The same amount, written otherwise. */
export function respelledQuantity(text: string, roll: Roll): string {
  const amount = parseQuantity(text);
  if (amount === null) return text;
  const fitting = UNITS.filter(([, unit]) => amount % unit === 0n);
  const [suffix, unit] = fitting[roll(fitting.length)] ?? ['n', 1n];
  const whole = String(amount / unit);
  return roll(3) === 0 && !suffix.startsWith('e') && whole.length < 30
    ? `${whole}.0${suffix}`
    : `${whole}${suffix}`;
}

const isObject = (value: unknown): value is Json =>
  value !== null && typeof value === 'object' && !Array.isArray(value);

function shuffled(value: unknown, roll: Roll): unknown {
  if (Array.isArray(value)) return value.map((item) => shuffled(item, roll));
  if (!isObject(value)) return value;
  const entries = Object.entries(value).map(
    ([key, member]) => [roll(1000), key, shuffled(member, roll)] as const,
  );
  return Object.fromEntries(entries.sort((a, b) => a[0] - b[0]).map(([, key, member]) => [key, member]));
}

/** Writes the default of a field out, or leaves it away. */
function toggle(target: Json, field: string, standard: unknown, roll: Roll): void {
  const present = target[field];
  const isDefault =
    present === undefined || JSON.stringify(present) === JSON.stringify(standard) || present === standard;
  if (!isDefault || roll(2) === 0) return;
  if (present === undefined) target[field] = structuredClone(standard);
  else delete target[field];
}

function amounts(resources: Json, roll: Roll): void {
  const [limits, requests] = ['limits', 'requests'].map(
    (side) => (resources[side] ?? {}) as Record<string, string>,
  );
  if (limits === undefined || requests === undefined) return;
  for (const [name, limit] of Object.entries(limits)) {
    const isDefault = requests[name] === undefined || parseQuantity(requests[name]) === parseQuantity(limit);
    if (!isDefault || roll(2) === 0) continue;
    if (requests[name] === undefined) requests[name] = limit;
    else delete requests[name];
  }
  for (const side of [limits, requests])
    for (const [name, amount] of Object.entries(side)) side[name] = respelledQuantity(amount, roll);
  for (const [side, list] of [
    ['limits', limits],
    ['requests', requests],
  ] as const) {
    if (Object.keys(list).length > 0 || roll(2) === 0) resources[side] = list;
    else delete resources[side];
  }
}

function security(context: Json, roll: Roll): void {
  const { capabilities } = context as { capabilities?: { add?: string[] } };
  const isAdmin = capabilities?.add?.some((one) => one.endsWith('SYS_ADMIN')) === true;
  toggle(context, 'readOnlyRootFilesystem', false, roll);
  if (context['privileged'] === true) return;
  toggle(context, 'privileged', false, roll);
  if (!isAdmin) toggle(context, 'allowPrivilegeEscalation', false, roll);
  toggle(context, 'capabilities', { drop: ['ALL'] }, roll);
}

/** Defaults of what refers to other objects, by the name of the field that holds it. */
const OF_REFS: Readonly<Record<string, Json>> = {
  fieldRef: { apiVersion: 'v1' },
  resourceFieldRef: { divisor: '0' },
  configMapKeyRef: { optional: false },
  secretKeyRef: { optional: false },
  configMapRef: { optional: false },
  secretRef: { optional: false },
  serviceAccountToken: { expirationSeconds: 3600 },
  configMap: { items: [], optional: false },
  secret: { items: [], optional: false },
  downwardAPI: { items: [] },
};

function refs(value: unknown, roll: Roll): void {
  if (Array.isArray(value)) for (const item of value) refs(item, roll);
  if (!isObject(value)) return;
  for (const [field, member] of Object.entries(value)) {
    if (isObject(member))
      for (const [name, standard] of Object.entries(OF_REFS[field] ?? {}))
        toggle(member, name, standard, roll);
    refs(member, roll);
  }
}

function mounts(list: unknown, roll: Roll): void {
  for (const mount of (list ?? []) as Json[]) {
    toggle(mount, 'readOnly', false, roll);
    toggle(mount, 'subPath', '', roll);
    toggle(mount, 'mountPropagation', 'None', roll);
  }
}

/**
 * Variables that a container can ask of the app: an entry without a value is one thing, an empty value another. Of each
 * kind some, listed here and not taken from the product, which could have forgotten one.
 */
export const OF_THE_APP: readonly string[] = [
  ...['PORT', 'DATABASE_URI', 'CACHE_URI', 'TRACING_PROJECT'],
  ...['OTEL_SERVICE_NAME', 'OTEL_RESOURCE_ATTRIBUTES', 'OTEL_EXPORTER_OTLP_HEADERS'],
  ...[
    'OTEL_EXPORTER_OTLP_ENDPOINT',
    'OTEL_EXPORTER_OTLP_TRACES_ENDPOINT',
    'OTEL_EXPORTER_OTLP_LOGS_ENDPOINT',
  ],
  ...['OTEL_EXPORTER_OTLP_INSECURE', 'OTEL_EXPORTER_OTLP_METRICS_CERTIFICATE'],
  ...['HTTPS_PROXY', 'http_proxy', 'ALL_PROXY', 'SSL_CERT_FILE', 'NODE_EXTRA_CA_CERTS'],
];

/** The same pod template; each of its containers names variables of the app too, without a value or with an empty one. */
export function withVariablesOfTheApp(podTemplate: Json, seed: number): Json {
  const roll = dice(seed);
  const copy = structuredClone(podTemplate);
  for (const field of ['initContainers', 'sidecars'])
    for (const one of (copy[field] ?? []) as Json[]) {
      const names = new Set([0, 1, 2].map(() => OF_THE_APP[roll(OF_THE_APP.length)]));
      const others = ((one['env'] ?? []) as Json[]).filter(({ name }) => !names.has(String(name)));
      one['env'] = [...others, ...[...names].map((name) => (roll(2) === 0 ? { name } : { name, value: '' }))];
    }
  return copy;
}

function container(target: Json, roll: Roll): void {
  const { tag, digest } = parseImageReference(String(target['image'])) ?? { tag: null, digest: null };
  const pulls = tag === 'latest' || (tag === null && digest === null) ? 'Always' : 'IfNotPresent';
  toggle(target, 'imagePullPolicy', pulls, roll);
  for (const field of ['command', 'args', 'env', 'envFrom', 'volumeMounts']) toggle(target, field, [], roll);
  toggle(target, 'workingDir', '', roll);
  toggle(target, 'resources', {}, roll);
  if (isObject(target['resources'])) amounts(target['resources'], roll);
  toggle(target, 'securityContext', {}, roll);
  if (isObject(target['securityContext'])) security(target['securityContext'], roll);
  for (const variable of (target['env'] ?? []) as Json[]) {
    const isOfApp = OF_THE_APP.includes(String(variable['name']));
    if (!isOfApp && variable['valueFrom'] === undefined) toggle(variable, 'value', '', roll);
  }
  for (const source of (target['envFrom'] ?? []) as Json[]) toggle(source, 'prefix', '', roll);
  mounts(target['volumeMounts'], roll);
}

function volume(target: Json, roll: Roll): void {
  const sources = Object.keys(target).filter((key) => key !== 'name');
  if (sources.length === 0 || sources[0] === 'emptyDir') toggle(target, 'emptyDir', {}, roll);
  const { emptyDir } = target as { emptyDir?: Json };
  if (emptyDir !== undefined) {
    toggle(emptyDir, 'medium', '', roll);
    if (typeof emptyDir['sizeLimit'] === 'string')
      emptyDir['sizeLimit'] = respelledQuantity(emptyDir['sizeLimit'], roll);
  }
  for (const kind of ['configMap', 'secret', 'downwardAPI', 'projected'])
    if (isObject(target[kind])) toggle(target[kind], 'defaultMode', 0o644, roll);
  for (const kind of ['persistentVolumeClaim', 'nfs', 'csi'])
    if (isObject(target[kind])) toggle(target[kind], 'readOnly', false, roll);
}

/** The same pod template, written otherwise. */
export function respelled(podTemplate: Json, seed: number): Json {
  const roll = dice(seed);
  const copy = structuredClone(podTemplate);
  for (const field of ['labels', 'annotations']) toggle(copy, field, {}, roll);
  for (const field of ['imagePullSecrets', 'volumes', 'volumeMounts', 'initContainers', 'sidecars'])
    toggle(copy, field, [], roll);
  for (const list of ['initContainers', 'sidecars'])
    for (const one of (copy[list] ?? []) as Json[]) container(one, roll);
  for (const one of (copy['volumes'] ?? []) as Json[]) volume(one, roll);
  mounts(copy['volumeMounts'], roll);
  refs(copy, roll);
  return shuffled(copy, roll) as Json;
}

type Change = (podTemplate: Json, first: Json) => boolean | undefined;

const list = (holder: Json, field: string) => (holder[field] ?? []) as unknown[];
const swapEnds = (items: unknown[]) => {
  if (items.length < 2 || JSON.stringify(items[0]) === JSON.stringify(items.at(-1))) return false;
  items.unshift(items.pop());
  return true;
};

/** Small changes of a pod template or its first container, each of which makes other pods; false: nothing to change. */
export const REAL_CHANGES: Readonly<Record<string, Change>> = {
  'another image': (_, first) => !!Object.assign(first, { image: 'registry.example.com/another:1' }),
  'one more argument': (_, first) => !!Object.assign(first, { args: [...list(first, 'args'), ''] }),
  'arguments in another order': (_, first) => swapEnds(list(first, 'args')),
  'one more variable': (_, first) =>
    !!Object.assign(first, { env: [...list(first, 'env'), { name: 'ADDED-BY-TEST', value: '' }] }),
  'a value of one blank': (_, first) =>
    !!Object.assign(first, { env: [...list(first, 'env').slice(1), { name: 'ADDED-BY-TEST', value: ' ' }] }),
  'variables in another order': (_, first) => swapEnds(list(first, 'env')),
  'the value of the app instead of an empty one': (_, first) => {
    const env = list(first, 'env') as Json[];
    const empty = env.find(({ name, value }) => OF_THE_APP.includes(String(name)) && value === '');
    if (empty === undefined) return false;
    first['env'] = env.map((one) => (one === empty ? { name: one['name'] } : one));
    return true;
  },
  'one byte more': (_, first) => {
    const limits = { ...((first['resources'] as Json | undefined)?.['limits'] as Json) };
    const bytes = parseQuantity(String(limits['memory'] ?? '64Mi')) ?? 0n;
    first['resources'] = { limits: { ...limits, memory: `${bytes / NANO + 1n}` } };
    return true;
  },
  'one millicore more': (_, first) => {
    const limits = { ...((first['resources'] as Json | undefined)?.['limits'] as Json) };
    const nano = parseQuantity(String(limits['cpu'] ?? '1')) ?? 0n;
    first['resources'] = { limits: { ...limits, cpu: `${nano / 1_000_000n + 1n}m` } };
    return true;
  },
  'never pulled': (_, first) =>
    first['imagePullPolicy'] === 'Never' ? false : !!Object.assign(first, { imagePullPolicy: 'Never' }),
  'a volume more': (podTemplate) =>
    !!Object.assign(podTemplate, { volumes: [...list(podTemplate, 'volumes'), { name: 'added-by-test' }] }),
  'an empty label': (podTemplate) =>
    !!Object.assign(podTemplate, { labels: { ...(podTemplate['labels'] as Json), 'example.com/added': '' } }),
  'an empty annotation': (podTemplate) =>
    !!Object.assign(podTemplate, {
      annotations: { ...(podTemplate['annotations'] as Json), 'example.com/added': '' },
    }),
  'init containers in another order': (podTemplate) => swapEnds(list(podTemplate, 'initContainers')),
  'sidecars in another order': (podTemplate) => swapEnds(list(podTemplate, 'sidecars')),
  'not as root': (_, first) => {
    const context = (first['securityContext'] ?? {}) as Json;
    if (context['runAsNonRoot'] === true) return false;
    first['securityContext'] = { ...context, runAsNonRoot: true };
    return true;
  },
};
