import { isReservedEnvName, isReservedMetadataKey } from '../../../domain/deployment/reserved.ts';
import type { KubeObject } from '../../kube/client/object.ts';
import { type Addition, additionsTo, type PathStep } from '../../kube/compare/additions.ts';
import { type Difference, differenceOf } from '../../kube/compare/compare.ts';
import { includesField, type ManagedFields } from '../../kube/compare/managed-fields.ts';
import { foreignFields } from '../observe/ownership.ts';
import type { ChildObject } from '../observed.ts';
import { ADDITION_RULES } from './added-rules.ts';
import { isSafeChange } from './safe-fields.ts';

/**
 * Fields that the cluster adds to the objects that Berth applies, by a mutating policy or webhook. Fields that do not
 * affect the program that runs are kept. Fields that change this program or its rights count as differences and are
 * removed. Fields that another field manager owns are not included.
 */
export interface Additions {
  /** Kept fields. The operator reports these fields if the cluster added them to a write. */
  readonly kept: readonly Difference[];
  /** Rejected fields, which count as differences, like a changed field. */
  readonly refused: readonly Difference[];
  /** Paths of the rejected fields. */
  readonly removals: readonly Removal[];
  /** Paths of the unsafe fields that another field manager owns. */
  readonly foreign: readonly Removal[];
}

/** Path of a field that an apply does not remove, because the field manager does not own it. */
export type Removal = readonly PathStep[];

interface SafeAddition {
  /** Name in the documentation. */
  readonly field: string;
  /** Which values are safe, for the documentation. */
  readonly when: string;
  readonly pattern: RegExp;
  holds(value: unknown, addition: Addition): boolean;
}

type Fields = Readonly<Record<string, unknown>>;
const POD = String.raw`spec\.template\.spec\.`;
const CONTAINER = String.raw`${POD}containers\[\]\.`;
const inPod = (field: string) => new RegExp(`^${POD}${field}$`);
const inContainer = (field: string) => new RegExp(`^${CONTAINER}${field}$`);
const any = () => true;
const fieldsOf = (value: unknown): Fields =>
  value !== null && typeof value === 'object' ? (value as Fields) : {};
const listOf = (value: unknown): readonly unknown[] => (Array.isArray(value) ? value : []);
const isPositive = (value: unknown) => typeof value === 'number' && value > 0;

/**
 * Whether the key has no meaning for Berth. Selectors and Berth read `berth.dev/` labels, and an annotation may
 * select a security profile.
 */
function isPlainKey(key: string, isLabel: boolean): boolean {
  return isLabel ? !/^(?:[^/]*\.)?berth\.dev\//i.test(key) : !isReservedMetadataKey(key);
}

/** Sources of variables and volumes that grant no rights and expose no secret. */
const PLAIN_SOURCES: ReadonlySet<string> = new Set(['emptyDir', 'configMap', 'downwardAPI']);

function isPlainVariable(value: unknown): boolean {
  const { name, valueFrom } = fieldsOf(value);
  const text = String(name);
  // Variables that the dynamic loader reads, and that could therefore replace the program.
  if (text.startsWith('LD_') || isReservedEnvName(text)) return false;
  return Object.keys(fieldsOf(valueFrom)).every(
    (source) => source === 'fieldRef' || source === 'resourceFieldRef',
  );
}

function isPlainVolume(value: unknown): boolean {
  const { name: _, ...sources } = fieldsOf(value);
  return Object.keys(sources).every((source) => PLAIN_SOURCES.has(source));
}

/** Whether an added container may run in the pod, because it has no more rights than an ordinary container. */
function isPlainContainer(value: unknown): boolean {
  const { securityContext, ports, volumeDevices, resources, envFrom, env } = fieldsOf(value);
  const { privileged, allowPrivilegeEscalation, capabilities, procMount, runAsUser, seccompProfile } =
    fieldsOf(securityContext);
  return (
    privileged !== true &&
    allowPrivilegeEscalation !== true &&
    runAsUser !== 0 &&
    listOf(fieldsOf(capabilities)['add']).length === 0 &&
    (procMount === undefined || procMount === 'Default') &&
    fieldsOf(seccompProfile)['type'] !== 'Unconfined' &&
    listOf(ports).every((port) => !fieldsOf(port)['hostPort']) &&
    listOf(volumeDevices).length === 0 &&
    listOf(fieldsOf(resources)['claims']).length === 0 &&
    listOf(envFrom).length === 0 &&
    listOf(env).every(isPlainVariable)
  );
}

/**
 * Safe additions, with which the pods still run the requested revision and have no more rights. docs/operations.md
 * contains this table. All other fields of `ADDITION_RULES` are not safe.
 */
export const SAFE_ADDITIONS: readonly SafeAddition[] = [
  {
    field: 'labels, annotations',
    when: 'on the object or its pods, except labels with the prefix `berth.dev/` and annotations that set rights',
    pattern: /(?:^|\.)metadata\.(?:labels|annotations)\.\*$/,
    holds: (_, { pattern, steps }) => isPlainKey(String(steps?.at(-1)), pattern.endsWith('labels.*')),
  },
  {
    field: 'tolerations, nodeSelector, affinity, topologySpreadConstraints, schedulerName',
    when: 'any value: the fields control where pods run, not what runs in them',
    pattern: inPod(
      String.raw`(?:tolerations|nodeSelector\.\*|affinity|topologySpreadConstraints\[\]|schedulerName)`,
    ),
    holds: any,
  },
  {
    field: 'priorityClassName, priority, preemptionPolicy, runtimeClassName, overhead',
    when: 'any value: the platform decides about the priority of pods, and about the runtime that isolates them',
    pattern: inPod('(?:priorityClassName|priority|preemptionPolicy|runtimeClassName|overhead)'),
    holds: any,
  },
  {
    field: 'imagePullSecrets, dnsConfig.options, dnsConfig.searches',
    when: 'any value',
    pattern: inPod(String.raw`(?:imagePullSecrets\[\]|dnsConfig\.(?:options|searches))`),
    holds: any,
  },
  {
    field: 'enableServiceLinks, automountServiceAccountToken, hostUsers',
    when: 'set to false',
    pattern: inPod('(?:enableServiceLinks|automountServiceAccountToken|hostUsers)'),
    holds: (value) => value === false,
  },
  {
    field: 'resources.limits, resources.requests',
    when: 'for a resource without a limit or request',
    pattern: new RegExp(String.raw`^${POD}(?:containers\[\]\.)?resources\.(?:limits|requests)\.\*$`),
    holds: any,
  },
  {
    field: 'env',
    when: 'a variable with a value, a `fieldRef` or a `resourceFieldRef`, except names that Berth reserves and names that begin with `LD_`',
    pattern: inContainer(String.raw`env\[\]`),
    holds: isPlainVariable,
  },
  {
    field: 'volumes',
    when: '`emptyDir`, `configMap` or `downwardAPI`',
    pattern: inPod(String.raw`volumes\[\]`),
    holds: isPlainVolume,
  },
  {
    field: 'volumes.emptyDir.medium, volumes.emptyDir.sizeLimit',
    when: 'any value',
    pattern: inPod(String.raw`volumes\[\]\.emptyDir\.(?:medium|sizeLimit)`),
    holds: any,
  },
  {
    field: 'volumeMounts',
    when: 'a mount without `mountPropagation`, or `readOnly: true` on an existing mount',
    pattern: inContainer(String.raw`volumeMounts\[\](?:\.readOnly)?`),
    holds: (value) => (fieldsOf(value)['mountPropagation'] ?? 'None') === 'None',
  },
  {
    field: 'containers, initContainers',
    when: 'containers without more rights: not privileged, no added capabilities, no `runAsUser: 0`, no host port, no device, no `envFrom`',
    pattern: inPod(String.raw`containers\[\]`),
    holds: isPlainContainer,
  },
  {
    field: 'lifecycle.preStop',
    when: 'on a container without `preStop`',
    pattern: inContainer(String.raw`lifecycle\.preStop`),
    holds: any,
  },
  {
    field: 'securityContext.runAsUser, runAsGroup',
    when: 'not 0',
    pattern: new RegExp(String.raw`^${POD}(?:containers\[\]\.)?securityContext\.runAs(?:User|Group)$`),
    holds: isPositive,
  },
  {
    field: 'securityContext.seccompProfile, appArmorProfile',
    when: '`RuntimeDefault` or `Localhost`',
    pattern: new RegExp(
      String.raw`^${POD}(?:containers\[\]\.)?securityContext\.(?:seccomp|appArmor)Profile\.(?:type|localhostProfile)$`,
    ),
    holds: (value, { pattern }) =>
      !pattern.endsWith('.type') || value === 'RuntimeDefault' || value === 'Localhost',
  },
  {
    field: 'trafficDistribution, ipFamilyPolicy, sessionAffinity, ports.appProtocol',
    when: 'any value, on a Service',
    pattern:
      /^spec\.(?:trafficDistribution|ipFamilyPolicy|sessionAffinity(?:Config(?:\..+)?)?|ports\[\]\.appProtocol)$/,
    holds: any,
  },
  {
    field: 'behavior.scaleUp.tolerance, behavior.scaleDown.tolerance',
    when: 'any value, on an autoscaler',
    pattern: /^spec\.behavior\.scale(?:Up|Down)\.tolerance$/,
    holds: any,
  },
];

/** Kubernetes defaults of fields that Berth does not set. A changed value is compared with its default. */
const FILLED_IN: Readonly<Record<string, unknown>> = {
  'spec.template.spec.terminationGracePeriodSeconds': 30,
  'spec.template.spec.containers[].imagePullPolicy': 'IfNotPresent',
  'spec.minReadySeconds': 0,
};

function isKept(object: KubeObject, addition: Addition): boolean {
  const { path, pattern, value } = addition;
  if (SAFE_ADDITIONS.some((safe) => safe.pattern.test(pattern) && safe.holds(value, addition))) return true;
  return isSafeChange(object, { path, wanted: FILLED_IN[pattern], present: value });
}

const asDifference = ({ path, value }: Addition) => differenceOf(path, 'is added', undefined, value);

/** A partition holds back the only pod of the StatefulSet, so it is reverted like `spec.paused` of a Deployment. */
const STOPS_ROLLOUTS = 'spec.updateStrategy.rollingUpdate.partition';

function isForeign({ steps, pattern }: Addition, foreign: ManagedFields): boolean {
  return steps !== null && pattern !== STOPS_ROLLOUTS && includesField(foreign, steps);
}

interface Classified {
  /** Without an owner. Admission adds fields in this way. */
  readonly ofCluster: readonly Addition[];
  /** With another field manager: a user or a controller that wrote the field by itself. */
  readonly foreign: readonly Addition[];
}

/** The additions to a live object, by owner. */
function classified(object: KubeObject, live: ChildObject): Classified {
  const rules = ADDITION_RULES[object.kind];
  const all = rules === undefined ? [] : additionsTo(object, live, rules);
  if (all.length === 0) return { ofCluster: [], foreign: [] };
  const owned = live.foreignFields ?? foreignFields(live.metadata.managedFields ?? []);
  const foreign = all.filter((addition) => isForeign(addition, owned));
  return { ofCluster: all.filter((addition) => !foreign.includes(addition)), foreign };
}

/** Fields of the live object that Berth does not apply. */
export function additionsOf(object: KubeObject, live: ChildObject): Additions {
  const { ofCluster, foreign } = classified(object, live);
  const isUnsafe = (addition: Addition) => !isKept(object, addition);
  const others = ofCluster.filter(isUnsafe);
  return {
    kept: ofCluster.filter((addition) => !others.includes(addition)).map(asDifference),
    refused: others.map(asDifference),
    removals: removalsOf(others),
    foreign: removalsOf(foreign.filter(isUnsafe)),
  };
}

/** Paths of the kept additions with these names. */
export function removalsAt(object: KubeObject, live: ChildObject, paths: readonly string[]): Removal[] {
  if (paths.length === 0) return [];
  return removalsOf(classified(object, live).ofCluster.filter(({ path }) => paths.includes(path)));
}

/** Whether a field needs an explicit removal. An apply itself replaces a list that it owns as a whole. */
function removalsOf(additions: readonly Addition[]): Removal[] {
  return additions.flatMap(({ steps }) => (steps === null ? [] : [steps]));
}
