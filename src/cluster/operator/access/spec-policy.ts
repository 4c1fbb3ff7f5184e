import { podSettingsOfResource, settingPath } from '../../../contract/render/pod-settings.ts';
import type { ManagedDeploymentSpec } from '../../../contract/resource/managed-deployment.ts';
import { pullSecretName } from '../../../contract/resource/names.ts';
import { imageSchema, isRepository } from '../../../domain/kubernetes/image.ts';
import { isZeroQuantity, ZERO_LIMIT, zeroLimits } from '../../../domain/kubernetes/limits.ts';
import { podSettingsSchema } from '../../../domain/pod-settings/pod-settings.ts';
import type { Policy } from '../../../domain/policy/policy.ts';
import { type Reference, references } from '../../../domain/policy/policy-references.ts';
import { podPolicyViolations, variableCapViolations } from '../../../domain/policy/policy-rules.ts';
import { type SecretUse, secretRefusal } from '../../../domain/policy/referenceable-secrets.ts';
import { COMPONENTS } from '../../../domain/resource-spec/components.ts';
import { type ResourceSpec, resourceSpecSchema } from '../../../domain/resource-spec/resource-spec.ts';
import { specRuleIssues } from '../../../domain/resource-spec/spec-rules.ts';
import { type RunSettings, withoutRunSettings } from '../../../domain/run-settings/run-settings.ts';
import { runSettingsIssues } from '../../../domain/run-settings/run-settings-schema.ts';
import { DATA_SERVICE_NAMES, runsService } from '../../../workloads/data-services.ts';
import type { Forbidden, ObservedResource } from '../observed.ts';

/**
 * Checks the pods of every custom resource against the rules that the API applies to a resource_spec.
 * Users who can write custom resources must not bypass the policy through the operator.
 *
 * The check applies to changes, as in the API. Pods that were allowed once remain allowed (`isKept`) when the policy
 * becomes narrower. The following is not checked:
 * - whether custom_url.allowed_hosts allows a host, because only the hub knows which URL it generates (for rejected
 * hosts and the owner of a host, see host-claims.ts);
 * - sizes and numbers of app, database and cache, except limits of 0, because the CRD bounds them, and a namespace
 * quota bounds the total;
 * - caps of a deployment_type, which a custom resource does not contain. The largest cap of all types applies.
 */

type PodTemplate = ManagedDeploymentSpec['podTemplate'];

/** Names of the custom resource's fields in a resource_spec. The other fields are pod settings and run settings. */
const FIELDS: Readonly<
  Record<Exclude<keyof PodTemplate, 'securityProfile' | keyof RunSettings>, keyof ResourceSpec>
> = {
  labels: 'labels',
  annotations: 'annotations',
  serviceAccountName: 'service_account_name',
  imagePullSecrets: 'image_pull_secrets',
  volumes: 'volumes',
  volumeMounts: 'volume_mounts',
  initContainers: 'init_containers',
  sidecars: 'sidecars',
};

/** A result and the spec that it belongs to. Every spec has its own generation. */
export interface Checked {
  readonly uid: string;
  readonly generation: number;
  readonly forbidden: readonly Forbidden[];
}

/**
 * Checks a resource, and repeats the check only if its spec changed, because the check is expensive, and each write of
 * the status creates a new object with the same spec.
 * @param before the last result of this resource and policy
 */
export function checked(resource: ObservedResource, policy: Policy, before: Checked | undefined): Checked {
  const { uid, generation } = resource.metadata;
  if (before !== undefined && before.uid === uid && before.generation === generation) return before;
  return { uid, generation, forbidden: forbiddenParts(resource, policy) };
}

/** All rejected fields of the pods, in the order of the rules; empty: none. */
export function forbiddenParts(resource: ObservedResource, policy: Policy): readonly Forbidden[] {
  return [
    ...images(resource),
    ...ownLimits(resource),
    ...environment(resource),
    ...runSettings(resource, policy),
    ...secretReferences(resource, policy),
    ...pods(resource, policy),
  ];
}

const notOfPodTemplate = (resourcePath: string, message: string): Forbidden => ({
  resourcePath,
  message,
  ofPodTemplate: false,
});

/** Images outside the pod template. The images of containers in the template are checked with the template. */
function images({ spec }: ObservedResource): Forbidden[] {
  const { revision, database, build } = spec;
  const given = [
    ['spec.revision.image', revision.image],
    ['spec.database.image', runsService(spec, 'database') ? database.image : undefined],
  ] as const;
  const wrong = given.flatMap(([path, image]) => {
    const [issue] = image === undefined ? [] : (imageSchema.safeParse(image).error?.issues ?? []);
    return issue === undefined ? [] : [notOfPodTemplate(path, issue.message)];
  });
  const repositories = [
    ['spec.build.repository', build?.repository],
    ['spec.build.upload.repository', build?.upload?.repository],
  ] as const;
  const message = 'must be a repository of a registry, without tag and digest';
  return [
    ...wrong,
    ...repositories
      .filter(([, repository]) => repository !== undefined && !isRepository(repository))
      .map(([path]) => notOfPodTemplate(path, message)),
  ];
}

/** Limits of 0 outside the pod template, which an earlier CRD accepted. */
function ownLimits({ spec }: ObservedResource): Forbidden[] {
  const { components, database } = spec;
  const sized = [
    ...COMPONENTS.map((name) => [`components.${name}`, components[name]?.resources] as const),
    ...DATA_SERVICE_NAMES.filter((service) => runsService(spec, service)).map(
      (service) => [service, spec[service].resources] as const,
    ),
  ];
  const found = sized.flatMap(([part, resources]) =>
    zeroLimits(resources?.limits).map((name) =>
      notOfPodTemplate(`spec.${part}.resources.limits.${name}`, ZERO_LIMIT),
    ),
  );
  if (!runsService(spec, 'database') || !isZeroQuantity(database.storage)) return found;
  return [...found, notOfPodTemplate('spec.database.storage', 'must be more than 0')];
}

/** The app container gets the whole Secret as environment. */
function environment({ spec, metadata }: ObservedResource): Forbidden[] {
  const { envSecretName } = spec.revision;
  if (envSecretName === undefined) return [];
  const rules = { appName: metadata.name, labelledOnly: false };
  const message = secretRefusal({ name: envSecretName }, 'environment', rules);
  return message === null
    ? []
    : [{ resourcePath: 'spec.revision.envSecretName', message, ofPodTemplate: false }];
}

/** The rules about several references to Secrets, which the schema does not contain. */
function secretReferences({ spec: { podTemplate } }: ObservedResource, policy: Policy): Forbidden[] {
  const { secretReferences = [], env = [] } = podTemplate;
  const most = policy.secret_references.max_secrets;
  const isMore = new Set(secretReferences.map(({ secretName }) => secretName)).size > most;
  const names = new Set(env.map(({ name }) => name));
  const shared = secretReferences.flatMap(({ name }, index) =>
    names.has(name)
      ? [
          notOfPodTemplate(
            `spec.podTemplate.secretReferences[${index}].name`,
            `must not be the name of a variable in env, but there is a variable '${name}'`,
          ),
        ]
      : [],
  );
  if (!isMore) return shared;
  const message = `must not name more than ${most} different Secrets`;
  return [{ ...notOfPodTemplate('spec.podTemplate.secretReferences', message), byPolicy: true }, ...shared];
}

/**
 * Variables and commands that the API would reject. Stored templates contain the variables of each component, so larger
 * ones would not fit into etcd.
 */
function runSettings({ spec: { podTemplate } }: ObservedResource, policy: Policy): Forbidden[] {
  const wrong = runSettingsIssues(podTemplate as RunSettings).map(({ path, message }) =>
    notOfPodTemplate(`spec.podTemplate${steps(path)}`, message),
  );
  const overCaps = variableCapViolations(podTemplate.env ?? [], policy).map(({ msg }) => ({
    ...notOfPodTemplate('spec.podTemplate.env', msg),
    ofVariables: true,
    byPolicy: true,
  }));
  return [...wrong, ...overCaps];
}

function pods({ spec, metadata: { name } }: ObservedResource, policy: Policy): Forbidden[] {
  const settings = podSettingsSchema.safeParse(podSettingsOfResource(spec));
  if (!settings.success) return settings.error.issues.map(({ path, message }) => ofSetting(path, message));
  const parsed = resourceSpecSchema.safeParse(asResourceSpec(spec.podTemplate, name));
  if (!parsed.success) return parsed.error.issues.map(({ path, message }) => at(path, message));
  const pod = { spec: parsed.data, settings: settings.data };
  const broken = specRuleIssues({ spec: parsed.data, deploymentType: null, customDatabase: true });
  return [
    ...podPolicyViolations(pod, name, policy).map(({ loc, msg, byPolicy }) => ({
      ...inResource(loc, msg),
      ...(byPolicy ? { byPolicy } : {}),
    })),
    ...broken.map(({ loc, msg }) => at(loc, msg)),
  ];
}

/** An object of the namespace that the pods refer to. */
export interface ReferencedObject {
  readonly name: string;
  readonly kind: Reference['kind'] | 'serviceAccount';
  /** How pods use a Secret. */
  readonly use: SecretUse;
  readonly resourcePath: string;
  readonly ofPodTemplate: boolean;
}

/**
 * All Secrets, volume claims and ServiceAccounts that the pods refer to; only the ServiceAccount if the pod template
 * cannot be parsed.
 */
export function referencedObjects({ spec, metadata: { name } }: ObservedResource): ReferencedObject[] {
  const { volumes, initContainers, sidecars, imagePullSecrets } = spec.podTemplate;
  const isBare = [volumes, initContainers, sidecars, imagePullSecrets].every(
    (list = []) => list.length === 0,
  );
  const parsed = isBare ? null : resourceSpecSchema.safeParse(asResourceSpec(spec.podTemplate, name));
  const ofPods = !parsed?.success
    ? []
    : references(parsed.data).map(({ name: used, kind, use, loc }) => {
        const { resourcePath, ofPodTemplate } = at(loc, '');
        return { name: used, kind, use, resourcePath, ofPodTemplate };
      });
  return [...environmentSecret(spec), ...account(spec), ...ownPullSecret(spec, name), ...ofPods];
}

/** The listener adds this Secret, so the policy check of the pod template does not include it. */
function ownPullSecret({ podTemplate }: ObservedResource['spec'], app: string): ReferencedObject[] {
  const own = pullSecretName(app);
  return (podTemplate.imagePullSecrets ?? []).flatMap((secret, index): ReferencedObject[] => {
    const resourcePath = `spec.podTemplate.imagePullSecrets[${index}].name`;
    return secret.name === own
      ? [{ name: own, kind: 'secret', use: 'pull', resourcePath, ofPodTemplate: false }]
      : [];
  });
}

function environmentSecret({ revision: { envSecretName } }: ObservedResource['spec']): ReferencedObject[] {
  if (envSecretName === undefined) return [];
  const resourcePath = 'spec.revision.envSecretName';
  return [{ name: envSecretName, kind: 'secret', use: 'environment', resourcePath, ofPodTemplate: false }];
}

function account({ podTemplate: { serviceAccountName } }: ObservedResource['spec']): ReferencedObject[] {
  if (!serviceAccountName) return [];
  const resourcePath = 'spec.podTemplate.serviceAccountName';
  return [
    { name: serviceAccountName, kind: 'serviceAccount', use: 'content', resourcePath, ofPodTemplate: true },
  ];
}

/** The place of a violation whose location is that in a request body. */
function inResource([, field, ...path]: readonly PropertyKey[], message: string): Forbidden {
  if (field === 'resource_spec') return at(path, message);
  return ofSetting([field as PropertyKey, ...path], message);
}

/** @param path path below source_config */
function ofSetting(path: readonly PropertyKey[], message: string): Forbidden {
  return { resourcePath: settingPath(path), message, ofPodTemplate: true };
}

/**
 * The pod template as a resource_spec, without the platform's own pull Secret, which is not a field of a resource_spec.
 */
function asResourceSpec(podTemplate: PodTemplate, name: string): object {
  const own = pullSecretName(name);
  const { imagePullSecrets, securityProfile: _, ...others } = withoutRunSettings(podTemplate);
  const asked = imagePullSecrets?.filter((secret) => secret.name !== own);
  return Object.fromEntries(
    Object.entries({ ...others, imagePullSecrets: asked }).map(([field, value]) => [
      FIELDS[field as keyof typeof FIELDS],
      value,
    ]),
  );
}

const RESOURCE_FIELDS = new Map(Object.entries(FIELDS).map(([field, inSpec]) => [inSpec, field]));

/** `['sidecars', 0, 'image']` → `.sidecars[0].image`. */
const steps = (path: readonly PropertyKey[]): string =>
  path.map((step) => (typeof step === 'number' ? `[${step}]` : `.${String(step)}`)).join('');

/** The place of a violation whose path is that below resource_spec. */
function at([first, ...path]: readonly PropertyKey[], message: string): Forbidden {
  const field = RESOURCE_FIELDS.get(first as keyof ResourceSpec);
  const place = steps([...(field === undefined ? [] : [field]), ...path]);
  return { resourcePath: `spec.podTemplate${place}`, message, ofPodTemplate: true };
}
