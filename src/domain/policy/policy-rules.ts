import type { BodyIssue } from '../core/body-issue.ts';
import { exceeds, secretBytes } from '../deployment/secret-size.ts';
import type { Container } from '../kubernetes/container.ts';
import { eachContainer } from '../kubernetes/pod-containers.ts';
import { byteLength } from '../kubernetes/text.ts';
import { canonicalHost } from '../net/url-host.ts';
import { type PodSettings, podSettingsOf } from '../pod-settings/pod-settings.ts';
import { effectiveSpec } from '../resource-spec/effective-spec.ts';
import type { ResourceSpec } from '../resource-spec/resource-spec.ts';
import type { Variable } from '../run-settings/run-settings.ts';
import { capsFor, largestCaps, matchesAny, matchesAnyCase, type Policy } from './policy.ts';
import { capIssues, podCapIssues } from './policy-caps.ts';
import { volumeRemovalIssues } from './policy-data-services.ts';
import { domainIssues } from './policy-domains.ts';
import { healthCheckIssues } from './policy-health-checks.ts';
import { placementIssues } from './policy-placement.ts';
import { generatedObjectIssues, secretReferenceIssues } from './policy-references.ts';
import { resourceIssues } from './policy-resources.ts';
import { scheduleIssues } from './policy-schedules.ts';
import { podSecurityIssues, profileIssues } from './policy-security.ts';
import type { PodView, PolicyInput, PolicyView, Violation } from './policy-view.ts';

/** The policy checks of a body, as an ordered list of named checks. A violation is a 400 that names the field. */

const SPEC = ['source_config', 'resource_spec'] as const;
const inSpec = (...path: (string | number)[]) => [...SPEC, ...path];

function volumeKinds({ spec }: PodView, policy: Policy): Violation[] {
  return (spec.volumes ?? []).flatMap((volume, index) =>
    (['nfs', 'csi'] as const)
      .filter((kind) => volume[kind] !== undefined && !policy.volumes[kind])
      .map((kind) => ({
        loc: inSpec('volumes', index, kind),
        msg: `must not be set, because the policy does not allow volumes of the kind ${kind}`,
      })),
  );
}

function serviceAccount({ spec }: PodView, policy: Policy): Violation[] {
  const name = spec.service_account_name;
  const { allowed, refused } = policy.service_accounts;
  if (name == null || (matchesAny(name, allowed) && !matchesAny(name, refused))) return [];
  return [
    {
      loc: inSpec('service_account_name'),
      msg:
        allowed.length === 0
          ? 'must not be set, because each deployment has its own ServiceAccount'
          : 'must be one of the ServiceAccounts that the policy allows',
    },
  ];
}

/** All ServiceAccount tokens that volumes request. */
function tokens({ spec }: PodView) {
  return (spec.volumes ?? []).flatMap((volume, index) =>
    (volume.projected?.sources ?? []).flatMap(({ serviceAccountToken: token }, at) => {
      const loc = inSpec('volumes', index, 'projected', 'sources', at, 'serviceAccountToken');
      return token === undefined ? [] : [{ audience: token.audience, loc }];
    }),
  );
}

function missingAudiences(view: PodView): Violation[] {
  const msg = 'must contain an audience, because tokens for the API server are not allowed';
  return tokens(view).flatMap(({ audience, loc }) => (audience ? [] : [{ loc, msg }]));
}

function tokenAudiences(view: PodView, policy: Policy): Violation[] {
  const msg = 'must be one of the audiences that the policy allows';
  return tokens(view).flatMap(({ audience, loc }) =>
    !audience || matchesAny(audience, policy.service_account_token_audiences)
      ? []
      : [{ loc: [...loc, 'audience'], msg }],
  );
}

function isRefusedKey(key: string, { refused_domains, refused_keys, allowed_keys }: Policy['metadata']) {
  if (matchesAnyCase(key, allowed_keys)) return false;
  const [domain = ''] = key.includes('/') ? key.toLowerCase().split('/') : [];
  return (
    matchesAnyCase(key, refused_keys) ||
    refused_domains
      .map((refused) => refused.toLowerCase())
      .some((refused) =>
        // The domain of a key. Container runtimes also read keys without a slash, such as io.katacontainers.config.…
        refused === '*'
          ? domain !== '' || key.includes('.')
          : domain === refused || domain.endsWith(`.${refused}`),
      )
  );
}

function metadataKeys({ spec }: PodView, policy: Policy): Violation[] {
  return (['labels', 'annotations'] as const).flatMap((map) =>
    Object.keys(spec[map] ?? {})
      .filter((key) => isRefusedKey(key, policy.metadata))
      .map((key) => ({ loc: inSpec(map, key), msg: 'the policy does not allow this key' })),
  );
}

function customUrl(view: PolicyView, policy: Policy): Violation[] {
  const { sourceConfig, stored, ownHost, platformHosts = [], serverUrl } = view;
  const url = sourceConfig.custom_url;
  if (url === null || url === serverUrl || url === stored?.custom_url || !URL.canParse(url)) return [];
  const host = canonicalHost(new URL(url).hostname);
  const loc = ['source_config', 'custom_url'];
  if (host === ownHost || platformHosts.includes(host))
    return [{ loc, msg: "must not have the platform's own host" }];
  const { allowed_hosts, refused_hosts } = policy.custom_url;
  if (matchesAnyCase(host, allowed_hosts) && !matchesAnyCase(host, refused_hosts)) return [];
  const msg =
    allowed_hosts.length === 0
      ? 'must not be set, because the server sets it'
      : 'has a host that the policy does not allow';
  return [{ loc, msg }];
}

function environmentBytes(container: Container): number {
  return (container.env ?? []).reduce(
    (sum, { name, value }) => sum + byteLength(name) + byteLength(value ?? ''),
    0,
  );
}

type SecretsView = Pick<PolicyView, 'secrets' | 'storedSecrets' | 'caps'>;

function secretCaps({ secrets, storedSecrets = [], caps }: SecretsView): Violation[] {
  const found: Violation[] = [];
  if (exceeds(secrets.length, caps.secrets, storedSecrets.length))
    found.push({ loc: ['secrets'], msg: `must not have more than ${caps.secrets} entries` });
  if (exceeds(secretBytes(secrets), caps.env_bytes, secretBytes(storedSecrets)))
    found.push({ loc: ['secrets'], msg: `must not be larger than ${caps.env_bytes} bytes together` });
  return found;
}

type EnvView = Pick<PolicyView, 'env' | 'storedEnv' | 'caps'>;

function envCaps({ env = [], storedEnv = [], caps }: EnvView): Violation[] {
  const loc = ['source_revision_config', 'env'];
  const found: Violation[] = [];
  if (exceeds(env.length, caps.env_count, storedEnv.length))
    found.push({ loc, msg: `must not have more than ${caps.env_count} entries` });
  if (exceeds(secretBytes(env), caps.env_bytes, secretBytes(storedEnv)))
    found.push({ loc, msg: `must not be larger than ${caps.env_bytes} bytes together` });
  return found;
}

/** Violations of the largest caps by the env of a custom resource, which has no deployment_type. */
export const variableCapViolations = (env: readonly Variable[], policy: Policy): Violation[] =>
  envCaps({ env, caps: largestCaps(policy) });

function environments({ spec, caps }: PodView): Violation[] {
  const found: Violation[] = [];
  for (const { container, loc: at } of eachContainer(spec)) {
    const loc = inSpec(...at, 'env');
    if ((container.env ?? []).length > caps.env_count)
      found.push({ loc, msg: `must not have more than ${caps.env_count} entries` });
    if (environmentBytes(container) > caps.env_bytes)
      found.push({ loc, msg: `must not be larger than ${caps.env_bytes} bytes together` });
  }
  return found;
}

interface PolicyRule<View> {
  readonly name: string;
  readonly check: (view: View, policy: Policy) => Violation[];
  /** Whether no policy can allow a value that this rule rejects. */
  readonly always?: true;
}

/** Rules for pods. The rules also apply to custom resources that the API did not create. */
const POD_RULES: readonly PolicyRule<PodView>[] = [
  { name: 'policy_security_profile', check: profileIssues },
  { name: 'policy_pod_security', check: podSecurityIssues },
  { name: 'policy_health_check', check: healthCheckIssues },
  { name: 'policy_placement', check: placementIssues },
  { name: 'policy_volume_kind', check: volumeKinds },
  { name: 'policy_service_account', check: serviceAccount },
  { name: 'policy_token_audience', check: missingAudiences, always: true },
  { name: 'policy_token_audience', check: tokenAudiences },
  { name: 'policy_metadata_key', check: metadataKeys },
  { name: 'policy_generated_object', check: generatedObjectIssues, always: true },
  { name: 'policy_resource', check: resourceIssues },
];

/** The name of the rules about secrets and variables. */
const ENVIRONMENT = 'policy_environment';

/** The name of the rules about references to Secrets. */
const REFERENCES = 'policy_secret_reference';

/** The rules, in the order in which their violations are reported. */
export const POLICY_RULES: readonly PolicyRule<PolicyView>[] = [
  ...POD_RULES,
  { name: 'policy_custom_url', check: customUrl },
  { name: 'policy_volume_removal', check: volumeRemovalIssues },
  { name: 'policy_domain', check: domainIssues },
  { name: 'policy_schedule', check: scheduleIssues },
  { name: 'policy_cap', check: capIssues },
  { name: REFERENCES, check: secretReferenceIssues },
  { name: ENVIRONMENT, check: (view) => [...secretCaps(view), ...envCaps(view), ...environments(view)] },
];

/** A violation of pods. */
export interface PodViolation extends Violation {
  /** Whether another policy could allow the value. */
  readonly byPolicy: boolean;
}

/**
 * Policy violations of the pods of a spec, with paths below the body. Rules that depend on more than the spec (numbers of pods,
 * caps of the deployment_type, the URL of the server) are checked only by the API.
 */
export function podPolicyViolations(
  { spec, settings }: { readonly spec: ResourceSpec; readonly settings: PodSettings },
  appName: string,
  policy: Policy,
): PodViolation[] {
  const view = { spec, settings, appName, caps: largestCaps(policy) };
  return [
    ...POD_RULES.flatMap(({ check, always = false }) =>
      check(view, policy).map((violation) => ({ ...violation, byPolicy: !always })),
    ),
    ...[...podCapIssues(view), ...environments(view)].map((violation) => ({ ...violation, byPolicy: true })),
  ];
}

/** If a field violates several rules, only the first violation is reported. */
function firstOfEachField(issues: readonly BodyIssue[]): BodyIssue[] {
  const reportedPaths = new Set<string>();
  return issues.filter(({ loc }) => {
    const path = JSON.stringify(loc);
    return !reportedPaths.has(path) && reportedPaths.add(path);
  });
}

type VariablesInput = Pick<
  PolicyInput,
  | 'sourceConfig'
  | 'appName'
  | 'secrets'
  | 'storedSecrets'
  | 'env'
  | 'storedEnv'
  | 'references'
  | 'storedReferences'
>;

/** The policy violations of secrets, references and env that are added to stored values, which are not checked. */
export function variablePolicyViolations(
  { sourceConfig, ...variables }: VariablesInput,
  policy: Policy,
): BodyIssue[] {
  const caps = capsFor(policy, sourceConfig.deployment_type);
  const found = [...secretCaps({ ...variables, caps }), ...envCaps({ ...variables, caps })];
  return firstOfEachField([
    ...secretReferenceIssues(variables, policy).map((violation) => ({ ...violation, type: REFERENCES })),
    ...found.map((violation) => ({ ...violation, type: ENVIRONMENT })),
  ]);
}

/** All policy violations of the values to store. */
export function policyViolations(input: PolicyInput, policy: Policy): BodyIssue[] {
  const { resource_spec: spec, deployment_type: type } = input.sourceConfig;
  const caps = capsFor(policy, type);
  const effective = effectiveSpec(spec ?? {}, type, caps);
  const view: PolicyView = {
    ...input,
    spec: spec ?? {},
    settings: podSettingsOf(input.sourceConfig),
    effective,
    caps,
  };
  const found = POLICY_RULES.flatMap(({ name, check }) =>
    check(view, policy).map((violation) => ({ ...violation, type: name })),
  );
  return firstOfEachField(found);
}
