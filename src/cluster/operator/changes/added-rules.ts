import { isDeepStrictEqual } from 'node:util';
import { pullsByDefault } from '../../../domain/kubernetes/normal-form.ts';
import { parseQuantity } from '../../../domain/kubernetes/quantity.ts';
import type { AdditionRule, AdditionRules, FoundValue } from '../../kube/compare/additions.ts';

/**
 * Fields that Berth does not set and checks for additions, with the API server's default values. Source: the API
 * reference and pkg/apis/{core,apps,autoscaling,networking}/…/defaults.go, Kubernetes 1.36.
 */

/** A field without a default. */
const never: AdditionRule = () => false;
const standard =
  (...values: unknown[]): AdditionRule =>
  ({ value }) =>
    values.some((candidate) => isDeepStrictEqual(candidate, value));
const unlessTrue = standard(false);
const unlessPositive = standard(0);

/** Prefixes the fields of rules with a path. */
const below = (path: string, rules: AdditionRules): AdditionRules =>
  Object.fromEntries(Object.entries(rules).map(([field, rule]) => [`${path}.${field}`, rule]));

const all = (rule: AdditionRule, ...fields: string[]): AdditionRules =>
  Object.fromEntries(fields.map((field) => [field, rule]));

const METADATA: AdditionRules = {
  'metadata.labels': 'fields',
  'metadata.labels.*': never,
  'metadata.annotations': 'fields',
  'metadata.annotations.*': ({ field }) => field.startsWith('berth.dev/') || isOfController(field),
};

/** Annotations that Kubernetes sets, or that kubectl sets for a user: `kubectl rollout restart`, `kubectl apply`. */
function isOfController(name: string): boolean {
  return /^(?:deployment|deprecated\.daemonset\.template|autoscaling\.alpha)\.kubernetes\.io\/|^kubectl\.kubernetes\.io\/(?:restartedAt|last-applied-configuration)$|^kubernetes\.io\/change-cause$/.test(
    name,
  );
}

/** A missing request defaults to the limit. */
function isLimit({ value, field, entry }: FoundValue): boolean {
  const { resources } = (entry ?? {}) as { resources?: { limits?: Record<string, unknown> } };
  const limit = resources?.limits?.[field];
  if (limit === undefined) return false;
  return limit === value || parseQuantity(String(limit)) === parseQuantity(String(value));
}

const CONTEXT: AdditionRules = {
  ...all(
    never,
    'runAsNonRoot',
    'runAsUser',
    'runAsGroup',
    'allowPrivilegeEscalation',
    'seLinuxOptions',
    'windowsOptions',
  ),
  ...all(unlessTrue, 'privileged', 'readOnlyRootFilesystem'),
  procMount: standard('Default'),
  capabilities: 'fields',
  'capabilities.add': never,
  'capabilities.drop': never,
  seccompProfile: 'fields',
  'seccompProfile.type': never,
  'seccompProfile.localhostProfile': never,
  appArmorProfile: 'fields',
  'appArmorProfile.type': never,
  'appArmorProfile.localhostProfile': never,
};

const POD_CONTEXT: AdditionRules = {
  ...CONTEXT,
  ...all(
    never,
    'fsGroup',
    'fsGroupChangePolicy',
    'sysctls',
    'supplementalGroups',
    'supplementalGroupsPolicy',
  ),
};

const RESOURCES: AdditionRules = {
  resources: 'fields',
  'resources.limits': 'fields',
  'resources.limits.*': never,
  'resources.requests': 'fields',
  'resources.requests.*': isLimit,
  'resources.claims': never,
};

const PROBE: AdditionRules = {
  initialDelaySeconds: unlessPositive,
  timeoutSeconds: standard(1),
  periodSeconds: standard(10),
  successThreshold: standard(1),
  failureThreshold: standard(3),
  terminationGracePeriodSeconds: never,
  'httpGet.scheme': standard('HTTP'),
  'httpGet.path': standard('/'),
  'httpGet.host': never,
  'httpGet.httpHeaders': never,
};
const PROBES = ['livenessProbe', 'readinessProbe', 'startupProbe'];

const CONTAINER: AdditionRules = {
  ...all(never, 'command', 'args', 'workingDir', 'restartPolicy', ...PROBES),
  ...Object.assign({}, ...PROBES.map((probe) => below(probe, PROBE))),
  ...all('entries', 'env', 'ports', 'volumeMounts', 'volumeDevices'),
  ...all(unlessTrue, 'stdin', 'stdinOnce', 'tty'),
  imagePullPolicy: ({ value, entry }) => value === pullsByDefault(entry?.['image']),
  terminationMessagePath: standard('/dev/termination-log'),
  terminationMessagePolicy: standard('File'),
  envFrom: never,
  'env[]': never,
  'env[].value': never,
  'env[].valueFrom': never,
  'ports[]': never,
  'ports[].hostPort': unlessPositive,
  'ports[].hostIP': never,
  'volumeMounts[]': never,
  'volumeMounts[].readOnly': unlessTrue,
  'volumeMounts[].subPath': never,
  'volumeMounts[].subPathExpr': never,
  'volumeMounts[].mountPropagation': standard('None'),
  'volumeDevices[]': never,
  lifecycle: 'fields',
  'lifecycle.preStop': never,
  'lifecycle.postStart': never,
  'lifecycle.stopSignal': never,
  securityContext: 'fields',
  ...below('securityContext', CONTEXT),
  ...RESOURCES,
};

const POD: AdditionRules = {
  ...all(
    never,
    'activeDeadlineSeconds',
    'affinity',
    'automountServiceAccountToken',
    'hostUsers',
    'hostname',
    'hostnameOverride',
    'nodeName',
    'overhead',
    'priority',
    'priorityClassName',
    'readinessGates',
    'resourceClaims',
    'runtimeClassName',
    'serviceAccountName',
    'subdomain',
    'tolerations',
  ),
  ...all(unlessTrue, 'hostNetwork', 'hostPID', 'hostIPC', 'shareProcessNamespace', 'setHostnameAsFQDN'),
  ...all(
    'entries',
    'initContainers',
    'volumes',
    'imagePullSecrets',
    'hostAliases',
    'topologySpreadConstraints',
  ),
  dnsPolicy: standard('ClusterFirst'),
  dnsConfig: 'fields',
  'dnsConfig.options': never,
  'dnsConfig.nameservers': never,
  'dnsConfig.searches': never,
  enableServiceLinks: standard(true),
  nodeSelector: 'fields',
  'nodeSelector.*': never,
  preemptionPolicy: standard('PreemptLowerPriority'),
  restartPolicy: standard('Always'),
  schedulerName: standard('default-scheduler'),
  terminationGracePeriodSeconds: standard(30),
  'imagePullSecrets[]': never,
  'hostAliases[]': never,
  'topologySpreadConstraints[]': never,
  'volumes[]': never,
  'volumes[].emptyDir.medium': never,
  'volumes[].emptyDir.sizeLimit': never,
  'volumes[].configMap.items': never,
  'volumes[].secret.items': never,
  'volumes[].persistentVolumeClaim.readOnly': unlessTrue,
  ...RESOURCES,
  securityContext: 'fields',
  ...below('securityContext', POD_CONTEXT),
  'containers[]': never,
  ...below('containers[]', CONTAINER),
};

const TEMPLATE: AdditionRules = { ...METADATA, ...below('spec', POD) };

const DEPLOYMENT: AdditionRules = {
  ...METADATA,
  ...below('spec.template', TEMPLATE),
  'spec.minReadySeconds': unlessPositive,
  'spec.progressDeadlineSeconds': standard(600),
  'spec.revisionHistoryLimit': standard(10),
  'spec.strategy': 'fields',
  'spec.strategy.type': standard('RollingUpdate'),
  'spec.strategy.rollingUpdate': 'fields',
  'spec.strategy.rollingUpdate.maxSurge': standard('25%'),
  'spec.strategy.rollingUpdate.maxUnavailable': standard('25%'),
};

const STATEFUL_SET: AdditionRules = {
  ...METADATA,
  ...below('spec.template', TEMPLATE),
  'spec.minReadySeconds': unlessPositive,
  'spec.revisionHistoryLimit': standard(10),
  'spec.podManagementPolicy': standard('OrderedReady'),
  'spec.ordinals': never,
  'spec.volumeClaimTemplates': never,
  'spec.persistentVolumeClaimRetentionPolicy': 'fields',
  'spec.persistentVolumeClaimRetentionPolicy.whenDeleted': standard('Retain'),
  'spec.persistentVolumeClaimRetentionPolicy.whenScaled': standard('Retain'),
  'spec.updateStrategy': 'fields',
  'spec.updateStrategy.type': standard('RollingUpdate'),
  'spec.updateStrategy.rollingUpdate': 'fields',
  'spec.updateStrategy.rollingUpdate.partition': unlessPositive,
  'spec.updateStrategy.rollingUpdate.maxUnavailable': standard(1),
};

/** The API server allocates the addresses and address families of a Service. */
const SERVICE: AdditionRules = {
  ...METADATA,
  ...below('spec', {
    ...all(
      never,
      'allocateLoadBalancerNodePorts',
      'externalIPs',
      'externalName',
      'healthCheckNodePort',
      'loadBalancerClass',
      'loadBalancerIP',
      'loadBalancerSourceRanges',
      'sessionAffinityConfig',
      'trafficDistribution',
    ),
    publishNotReadyAddresses: unlessTrue,
    externalTrafficPolicy: standard('Cluster'),
    internalTrafficPolicy: standard('Cluster'),
    sessionAffinity: standard('None'),
    ipFamilyPolicy: standard('SingleStack'),
    'ports[]': never,
    'ports[].appProtocol': never,
    'ports[].nodePort': unlessPositive,
  }),
};

const AUTOSCALER: AdditionRules = {
  ...METADATA,
  'spec.minReplicas': standard(1),
  'spec.behavior': never,
  'spec.behavior.scaleUp': never,
  'spec.behavior.scaleUp.tolerance': never,
  'spec.behavior.scaleDown': never,
  'spec.behavior.scaleDown.tolerance': never,
};

const NETWORK_POLICY: AdditionRules = {
  ...METADATA,
  'spec.ingress': never,
  'spec.egress': never,
  'spec.ingress[].from': never,
  'spec.ingress[].ports': never,
  'spec.ingress[].ports[].endPort': never,
  'spec.egress[].to': never,
  'spec.egress[].ports': never,
  'spec.egress[].ports[].endPort': never,
};

/** Kinds that are checked for additions. */
export const ADDITION_RULES: Readonly<Record<string, AdditionRules>> = {
  Deployment: DEPLOYMENT,
  StatefulSet: STATEFUL_SET,
  Service: SERVICE,
  HorizontalPodAutoscaler: AUTOSCALER,
  NetworkPolicy: NETWORK_POLICY,
};
