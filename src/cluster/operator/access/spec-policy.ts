import type { ManagedDeploymentSpec } from '../../../contract/resource/managed-deployment.ts';
import { pullSecretName } from '../../../contract/resource/names.ts';
import { imageSchema, isRepository } from '../../../domain/kubernetes/image.ts';
import { isZeroQuantity, ZERO_LIMIT, zeroLimits } from '../../../domain/kubernetes/limits.ts';
import type { Policy } from '../../../domain/policy/policy.ts';
import { isSecretOfAnother, type Reference, references } from '../../../domain/policy/policy-references.ts';
import { podPolicyViolations } from '../../../domain/policy/policy-rules.ts';
import {
  COMPONENTS,
  type ResourceSpec,
  resourceSpecSchema,
} from '../../../domain/resource-spec/resource-spec.ts';
import { specRuleIssues } from '../../../domain/resource-spec/spec-rules.ts';
import { asOfRevision } from '../../../workloads/as-of-revision.ts';
import { askedPodsHash, isTemplateInputsHash } from '../../../workloads/template-inputs.ts';
import type { Forbidden, ObservedResource, ObservedTemplates } from '../observed.ts';

/**
 * What the pods of a custom resource may not be, whoever wrote it: the same rules that the API has for a resource_spec.
 * Whoever may write custom resources in a namespace must not get by the operator what the policy keeps from them.
 *
 * As the API does, it asks when something changes: what was let once stays let (`isKept`), however narrow the policy
 * becomes. Not checked: whether custom_url.allowed_hosts allows a host, for only the hub knows which URL it gives itself (refused
 * hosts, and whose a host is: host-claims.ts); numbers and sizes of the app, database and cache but for limits of 0, of which the CRD bounds what
 * no policy can allow, and a quota of the namespace what there is in all; caps of a deployment_type, which no custom resource tells: the largest cap
 * of any holds.
 */

type PodTemplate = ManagedDeploymentSpec['podTemplate'];

/** Fields of a resource_spec, by what they are called in the custom resource. */
const FIELDS: Readonly<Record<keyof PodTemplate, keyof ResourceSpec>> = {
  labels: 'labels',
  annotations: 'annotations',
  serviceAccountName: 'service_account_name',
  imagePullSecrets: 'image_pull_secrets',
  volumes: 'volumes',
  volumeMounts: 'volume_mounts',
  initContainers: 'init_containers',
  sidecars: 'sidecars',
};

/** What was found, and of which spec: each other one has another generation. */
export interface Checked {
  readonly uid: string;
  readonly generation: number;
  readonly forbidden: readonly Forbidden[];
}

/**
 * What may not be of a resource, found anew only where its spec has changed: checking is dear, and each write of a status
 * makes another object of the same spec.
 * @param before what this returned last of the resource, by the same policy
 */
export function checked(resource: ObservedResource, policy: Policy, before: Checked | undefined): Checked {
  const { uid, generation } = resource.metadata;
  if (before !== undefined && before.uid === uid && before.generation === generation) return before;
  return { uid, generation, forbidden: forbiddenParts(resource, policy) };
}

/** Every part of the wanted pods that may not be, in the order of the rules; empty: all of it may. */
export function forbiddenParts(resource: ObservedResource, policy: Policy): readonly Forbidden[] {
  return [...images(resource), ...ownLimits(resource), ...environment(resource), ...pods(resource, policy)];
}

/**
 * Whether pods of the same pod template were let once: they stay so with another image or other secrets. By the stored
 * templates, which are made of nothing that was refused: a status may be anybody's.
 */
export function isKept(resource: ObservedResource, storedTemplates: readonly ObservedTemplates[]): boolean {
  const asked = askedPodsHash(resource);
  return storedTemplates.some((stored) =>
    stored.askedPods === undefined ? isOfSameSpec(resource, stored) : stored.askedPods === asked,
  );
}

/** Of an earlier version, which did not note the pod template alone: all but image and secrets has to be the same. */
function isOfSameSpec(resource: ObservedResource, stored: ObservedTemplates): boolean {
  const { revisionId: id, revisionNumber: number } = stored;
  const identity = resource.spec.revision.id === undefined ? { number } : { id, number };
  try {
    const view = asOfRevision(resource, identity, stored.templates(), stored.image()?.given);
    return isTemplateInputsHash(view, stored.inputsHash);
  } catch {
    // Somebody else wrote them: they vouch for nothing.
    return false;
  }
}

const notOfPodTemplate = (resourcePath: string, message: string): Forbidden => ({
  resourcePath,
  message,
  ofPodTemplate: false,
});

/** Images outside the pod template; those of its containers are judged with it. */
function images({ spec: { revision, database, build } }: ObservedResource): Forbidden[] {
  const given = [
    ['spec.revision.image', revision.image],
    ['spec.database.image', database.external ? undefined : database.image],
  ] as const;
  const wrong = given.flatMap(([path, image]) => {
    const [issue] = image === undefined ? [] : (imageSchema.safeParse(image).error?.issues ?? []);
    return issue === undefined ? [] : [notOfPodTemplate(path, issue.message)];
  });
  if (build === undefined || isRepository(build.repository)) return wrong;
  const message = 'must be a repository of a registry, without tag and digest';
  return [...wrong, notOfPodTemplate('spec.build.repository', message)];
}

/** Limits of 0 outside the pod template, which an earlier CRD let through. */
function ownLimits({ spec: { components, database, cache } }: ObservedResource): Forbidden[] {
  const sized = [
    ...COMPONENTS.map((name) => [`components.${name}`, components[name]?.resources] as const),
    ...(database.external ? [] : [['database', database.resources] as const]),
    ...(cache.external ? [] : [['cache', cache.resources] as const]),
  ];
  const found = sized.flatMap(([part, resources]) =>
    zeroLimits(resources?.limits).map((name) =>
      notOfPodTemplate(`spec.${part}.resources.limits.${name}`, ZERO_LIMIT),
    ),
  );
  if (database.external || !isZeroQuantity(database.storage)) return found;
  return [...found, notOfPodTemplate('spec.database.storage', 'must be more than 0')];
}

/** The environment goes to the app container whole. */
function environment({ spec, metadata }: ObservedResource): Forbidden[] {
  const { envSecretName } = spec.revision;
  if (envSecretName === undefined || !isSecretOfAnother(envSecretName, metadata.name)) return [];
  const message = 'belongs to a deployment of Berth and cannot be used here';
  return [{ resourcePath: 'spec.revision.envSecretName', message, ofPodTemplate: false }];
}

function pods({ spec: { podTemplate }, metadata: { name } }: ObservedResource, policy: Policy): Forbidden[] {
  const parsed = resourceSpecSchema.safeParse(asResourceSpec(podTemplate, name));
  if (!parsed.success) return parsed.error.issues.map(({ path, message }) => at(path, message));
  const broken = specRuleIssues({ spec: parsed.data, deploymentType: null, customDatabase: true });
  return [
    ...podPolicyViolations(parsed.data, name, policy).map(({ loc, msg, byPolicy }) => ({
      ...at(loc.slice(BELOW_BODY.length), msg),
      ...(byPolicy ? { byPolicy } : {}),
    })),
    ...broken.map(({ loc, msg }) => at(loc, msg)),
  ];
}

/** An object of the namespace that the wanted pods use. */
export interface ReferencedObject {
  readonly name: string;
  readonly kind: Reference['kind'] | 'serviceAccount';
  readonly resourcePath: string;
  readonly ofPodTemplate: boolean;
}

/** Every Secret, volume claim and ServiceAccount that the wanted pods use; of a pod template that cannot be read, the ServiceAccount. */
export function referencedObjects({ spec, metadata: { name } }: ObservedResource): ReferencedObject[] {
  const { volumes, initContainers, sidecars, imagePullSecrets } = spec.podTemplate;
  const isBare = [volumes, initContainers, sidecars, imagePullSecrets].every(
    (list = []) => list.length === 0,
  );
  const parsed = isBare ? null : resourceSpecSchema.safeParse(asResourceSpec(spec.podTemplate, name));
  const ofPods = !parsed?.success
    ? []
    : references(parsed.data).map(({ name: used, kind, loc }) => {
        const { resourcePath, ofPodTemplate } = at(loc, '');
        return { name: used, kind, resourcePath, ofPodTemplate };
      });
  return [...environmentSecret(spec), ...account(spec), ...ownPullSecret(spec, name), ...ofPods];
}

/** The pod template does not carry it to the checks of the policy: the listener adds it. */
function ownPullSecret({ podTemplate }: ObservedResource['spec'], app: string): ReferencedObject[] {
  const own = pullSecretName(app);
  return (podTemplate.imagePullSecrets ?? []).flatMap((secret, index): ReferencedObject[] => {
    const resourcePath = `spec.podTemplate.imagePullSecrets[${index}].name`;
    return secret.name === own ? [{ name: own, kind: 'secret', resourcePath, ofPodTemplate: false }] : [];
  });
}

function environmentSecret({ revision: { envSecretName } }: ObservedResource['spec']): ReferencedObject[] {
  if (envSecretName === undefined) return [];
  const resourcePath = 'spec.revision.envSecretName';
  return [{ name: envSecretName, kind: 'secret', resourcePath, ofPodTemplate: false }];
}

function account({ podTemplate: { serviceAccountName } }: ObservedResource['spec']): ReferencedObject[] {
  if (!serviceAccountName) return [];
  const resourcePath = 'spec.podTemplate.serviceAccountName';
  return [{ name: serviceAccountName, kind: 'serviceAccount', resourcePath, ofPodTemplate: true }];
}

/** Violations of the policy name the place in a body. */
const BELOW_BODY = ['source_config', 'resource_spec'];

/** Of what to pull with, the platform's own is no field of a resource_spec. */
function asResourceSpec(podTemplate: PodTemplate, name: string): object {
  const own = pullSecretName(name);
  const { imagePullSecrets } = podTemplate;
  const asked = imagePullSecrets?.filter((secret) => secret.name !== own);
  return Object.fromEntries(
    Object.entries({ ...podTemplate, imagePullSecrets: asked }).map(([field, value]) => [
      FIELDS[field as keyof PodTemplate],
      value,
    ]),
  );
}

const RESOURCE_FIELDS = new Map(Object.entries(FIELDS).map(([field, inSpec]) => [inSpec, field]));

/** `['sidecars', 0, 'image']` → `spec.podTemplate.sidecars[0].image`. */
function at([first, ...path]: readonly PropertyKey[], message: string): Forbidden {
  const field = RESOURCE_FIELDS.get(first as keyof ResourceSpec);
  const steps = path.map((step) => (typeof step === 'number' ? `[${step}]` : `.${String(step)}`));
  return {
    resourcePath: ['spec.podTemplate', ...(field === undefined ? [] : [field])].join('.') + steps.join(''),
    message,
    ofPodTemplate: true,
  };
}
