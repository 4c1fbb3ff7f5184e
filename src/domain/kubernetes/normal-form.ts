import { isObject } from '../core/is-object.ts';
import { mayComeFromApp } from '../resource-spec/exporter-variables.ts';
import { parseImageReference } from './image.ts';
import { normalCores, normalQuantity } from './quantity.ts';
import { VOLUME_KINDS } from './volume-kinds.ts';

/**
 * The normal form of pods. Two descriptions have the same normal form exactly if the API server and the kubelet create
 * the same pods from them. The normal form omits explicit defaults, empty lists and maps, and null, and normalizes
 * quantities. The order of lists is kept, because containers, variables, arguments and mounts may depend on it.
 *
 * The form contains as few fields as possible, so that most written descriptions are already in normal form. The normal
 * form is used only for comparisons. The written description is applied. Source of the defaults: k8s.io/kubernetes
 * pkg/apis/core/v1/defaults.go and the API reference, Kubernetes 1.36.
 */

type Fields = Readonly<Record<string, unknown>>;
/** Returns the normal form of a value. undefined: the value equals an absent field. */
type Normal = (value: unknown) => unknown;

/**
 * Normalizes the fields of an object. Fields without a rule do not change. An empty object does not equal an absent
 * object.
 */
const fieldsOf =
  (rules: Readonly<Record<string, Normal>>): Normal =>
  (value) => {
    if (!isObject(value)) return value ?? undefined;
    const form: Record<string, unknown> = {};
    for (const [field, member] of Object.entries(value)) {
      const rule = Object.hasOwn(rules, field) ? rules[field] : undefined;
      const normal = rule === undefined ? member : rule(member);
      if (normal !== undefined && normal !== null) form[field] = normal;
    }
    return form;
  };

/** For fields in which an empty object, list or map equals an absent value. */
const unlessEmpty =
  (rule: Normal): Normal =>
  (value) => {
    const form = rule(value);
    if (Array.isArray(form)) return form.length === 0 ? undefined : form;
    return isObject(form) && Object.keys(form).length === 0 ? undefined : form;
  };

const listOf = (rule: Normal = (item) => item): Normal =>
  unlessEmpty((value) => (Array.isArray(value) ? value.map(rule) : (value ?? undefined)));

const except =
  (standard: unknown): Normal =>
  (value) =>
    value === standard || value === null ? undefined : value;

/** A map of strings. Values may be empty strings. */
const map = unlessEmpty((value) => value ?? undefined);
const quantities = unlessEmpty((value) =>
  isObject(value)
    ? Object.fromEntries(
        Object.entries(value).map(([name, amount]) => [
          name,
          name === 'cpu' ? normalCores(amount) : normalQuantity(amount),
        ]),
      )
    : (value ?? undefined),
);
const unlessFalse = except(false);
const unlessBlank = except('');
const unlessZero = except(0);

/** Omits a request that equals its limit, because the limit is its default. */
const RESOURCES = unlessEmpty((value) => {
  const form = fieldsOf({ limits: quantities, requests: quantities })(value);
  if (!isObject(form) || !isObject(form['requests'])) return form;
  const limits = isObject(form['limits']) ? form['limits'] : {};
  const { requests, ...rest } = form;
  const own = Object.entries(requests as Fields).filter(
    ([name, amount]) => !Object.hasOwn(limits, name) || limits[name] !== amount,
  );
  return own.length === 0 ? rest : { ...rest, requests: Object.fromEntries(own) };
});

const FIELD_REF = fieldsOf({ apiVersion: except('v1') });
const RESOURCE_FIELD_REF = fieldsOf({
  containerName: unlessBlank,
  divisor: (value) => except('0')(normalQuantity(value)),
});
const OPTIONAL_REF = fieldsOf({ optional: unlessFalse });

const VALUE_FROM = fieldsOf({
  fieldRef: FIELD_REF,
  resourceFieldRef: RESOURCE_FIELD_REF,
  configMapKeyRef: OPTIONAL_REF,
  secretKeyRef: OPTIONAL_REF,
});

/**
 * An entry without a value can request the value of the app. For a variable that such an entry can request, a missing
 * value therefore differs from an empty value.
 */
const variable =
  (isRendered: boolean): Normal =>
  (value) => {
    const form = fieldsOf({ valueFrom: VALUE_FROM })(value) as Fields;
    const isPlain = form['valueFrom'] === undefined && !isRendered && mayComeFromApp(form['name']);
    if (form['value'] !== '' || isPlain) return form;
    const { value: _, ...rest } = form;
    return rest;
  };

const ENV_FROM = fieldsOf({ prefix: unlessBlank, configMapRef: OPTIONAL_REF, secretRef: OPTIONAL_REF });

const MOUNT = fieldsOf({
  readOnly: unlessFalse,
  subPath: unlessBlank,
  subPathExpr: unlessBlank,
  mountPropagation: except('None'),
});

const SYS_ADMIN = ['SYS_ADMIN', 'CAP_SYS_ADMIN'];

const SECURITY_FIELDS = fieldsOf({
  privileged: unlessFalse,
  readOnlyRootFilesystem: unlessFalse,
  procMount: except('Default'),
  capabilities: fieldsOf({ add: listOf(), drop: listOf() }),
  seLinuxOptions: unlessEmpty(
    fieldsOf({ user: unlessBlank, role: unlessBlank, type: unlessBlank, level: unlessBlank }),
  ),
});

/**
 * `allowPrivilegeEscalation: false` is also a default, because Berth adds it (workloads/objects/security.ts).
 * @param dropsByDefault whether Berth adds `drop: [ALL]` to a container without capabilities
 */
const securityForm = (value: unknown, dropsByDefault: boolean): unknown => {
  const form = SECURITY_FIELDS(value);
  if (!isObject(form) || form['privileged'] === true) return form;
  const { capabilities, allowPrivilegeEscalation, ...rest } = form;
  const { add, drop } = (capabilities ?? {}) as { add?: string[]; drop?: string[] };
  const isAdmin = add?.some((capability) => SYS_ADMIN.includes(capability)) ?? false;
  const dropsAll = dropsByDefault && add === undefined && drop?.length === 1 && drop[0] === 'ALL';
  return {
    ...rest,
    ...(capabilities === undefined || dropsAll ? {} : { capabilities }),
    ...(allowPrivilegeEscalation === undefined || (allowPrivilegeEscalation === false && !isAdmin)
      ? {}
      : { allowPrivilegeEscalation }),
  };
};

const PROBE = fieldsOf({
  initialDelaySeconds: unlessZero,
  timeoutSeconds: except(1),
  periodSeconds: except(10),
  successThreshold: except(1),
  failureThreshold: except(3),
  httpGet: fieldsOf({ scheme: except('HTTP'), path: except('/'), host: unlessBlank, httpHeaders: listOf() }),
});

const PORT = fieldsOf({
  protocol: except('TCP'),
  name: unlessBlank,
  hostIP: unlessBlank,
  hostPort: unlessZero,
});

/** The default pull policy of the API server for an image. */
export function pullsByDefault(image: unknown): string | undefined {
  const parsed = typeof image === 'string' ? parseImageReference(image) : null;
  if (parsed === null) return undefined;
  const { tag, digest } = parsed;
  return tag === 'latest' || (tag === null && digest === null) ? 'Always' : 'IfNotPresent';
}

/**
 * How containers are described: by a user, by a user who has asked for the default capabilities of the runtime, or as
 * rendered, where Berth has added all of its defaults.
 */
type Described = 'by user' | 'with default capabilities' | 'as rendered';

const container = (described: Described): Normal => {
  const fields = fieldsOf({
    command: listOf(),
    args: listOf(),
    workingDir: unlessBlank,
    env: listOf(variable(described === 'as rendered')),
    envFrom: listOf(ENV_FROM),
    resources: RESOURCES,
    volumeMounts: listOf(MOUNT),
    volumeDevices: listOf(),
    securityContext: unlessEmpty((value) => securityForm(value, described === 'by user')),
    ports: listOf(PORT),
    livenessProbe: PROBE,
    readinessProbe: PROBE,
    startupProbe: PROBE,
    terminationMessagePath: except('/dev/termination-log'),
    terminationMessagePolicy: except('File'),
    stdin: unlessFalse,
    stdinOnce: unlessFalse,
    tty: unlessFalse,
  });
  return (value) => {
    const { imagePullPolicy, ...form } = fields(value) as Fields;
    if (imagePullPolicy === undefined || imagePullPolicy === pullsByDefault(form['image'])) return form;
    return { ...form, imagePullPolicy };
  };
};

const DEFAULT_MODE = 0o644;
const DEFAULT_TOKEN_SECONDS = 3600;
const FILES = listOf(fieldsOf({ fieldRef: FIELD_REF, resourceFieldRef: RESOURCE_FIELD_REF }));
const defaultMode = except(DEFAULT_MODE);
const OBJECT_FILES = fieldsOf({ items: listOf(), optional: unlessFalse, defaultMode });

const SOURCES = fieldsOf({
  emptyDir: fieldsOf({ medium: unlessBlank, sizeLimit: (value) => normalQuantity(value ?? undefined) }),
  configMap: OBJECT_FILES,
  secret: OBJECT_FILES,
  downwardAPI: fieldsOf({ items: FILES, defaultMode }),
  projected: fieldsOf({
    defaultMode,
    sources: listOf(
      fieldsOf({
        configMap: OBJECT_FILES,
        secret: OBJECT_FILES,
        downwardAPI: fieldsOf({ items: FILES }),
        serviceAccountToken: fieldsOf({
          audience: unlessBlank,
          expirationSeconds: except(DEFAULT_TOKEN_SECONDS),
        }),
      }),
    ),
  }),
  persistentVolumeClaim: fieldsOf({ readOnly: unlessFalse }),
  nfs: fieldsOf({ readOnly: unlessFalse }),
  csi: fieldsOf({ readOnly: unlessFalse, fsType: unlessBlank, volumeAttributes: map }),
});

/** A volume without a source is an empty directory. */
const VOLUME: Normal = (value) => {
  const form = SOURCES(value) as Fields;
  return VOLUME_KINDS.some((kind) => form[kind] !== undefined) ||
    Object.keys(form).some((key) => key !== 'name')
    ? form
    : { ...form, emptyDir: {} };
};

const podTemplateForm = (described: Described): Normal =>
  fieldsOf({
    labels: map,
    annotations: map,
    serviceAccountName: unlessBlank,
    imagePullSecrets: listOf(),
    volumes: listOf(VOLUME),
    volumeMounts: listOf(MOUNT),
    initContainers: listOf(container(described)),
    sidecars: listOf(container(described)),
  });
const STANDARD_POD = podTemplateForm('by user');
const POD_WITH_DEFAULT_CAPABILITIES = podTemplateForm('with default capabilities');

/** `spec.podTemplate` of a custom resource in normal form. */
export const normalPodTemplate: Normal = (value) =>
  isObject(value) && value['securityProfile'] === 'baseline'
    ? POD_WITH_DEFAULT_CAPABILITIES(value)
    : STANDARD_POD(value);

/** Requests and limits of a container in normal form. undefined: no requests and limits. */
export const normalResources: Normal = RESOURCES;

const TOLERATION = fieldsOf({
  key: unlessBlank,
  operator: except('Equal'),
  value: unlessBlank,
  effect: unlessBlank,
});

const POD_SPEC = fieldsOf({
  containers: listOf(container('as rendered')),
  initContainers: listOf(container('as rendered')),
  volumes: listOf(VOLUME),
  imagePullSecrets: listOf(),
  securityContext: unlessEmpty((value) => value ?? undefined),
  restartPolicy: except('Always'),
  dnsPolicy: except('ClusterFirst'),
  schedulerName: except('default-scheduler'),
  terminationGracePeriodSeconds: except(30),
  enableServiceLinks: except(true),
  hostNetwork: unlessFalse,
  hostPID: unlessFalse,
  hostIPC: unlessFalse,
  nodeSelector: map,
  tolerations: listOf(TOLERATION),
  affinity: unlessEmpty((value) => value ?? undefined),
  topologySpreadConstraints: listOf(),
  serviceAccount: () => undefined,
});

/** A rendered pod template (`spec.template` of a workload) in normal form. */
export const normalTemplate = fieldsOf({
  metadata: unlessEmpty(fieldsOf({ labels: map, annotations: map, creationTimestamp: () => undefined })),
  spec: POD_SPEC,
});
