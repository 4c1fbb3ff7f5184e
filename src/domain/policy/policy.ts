import { z } from 'zod';
import { accessPolicySchema, NO_ACCESS } from '../access/access-policy.ts';
import { CLOUD_COUNTS, SELF_HOSTED_COUNTS, tenantCountsSchema } from '../core/tenant-counts.ts';
import { DEPLOYMENT_TYPES, type DeploymentType, type HostingMode } from '../deployment/source.ts';
import { POD_SECURITY_LEVELS } from '../kubernetes/pod-security.ts';
import { HEALTH_CHECK_LIMITS } from '../pod-settings/health-check.ts';
import { SECURITY_PROFILES } from '../pod-settings/security-profile.ts';
import { RESOURCE_LIMITS, withoutFloatNoise } from '../resource-spec/resource-spec.ts';
import { SCHEDULE_LIMITS } from '../schedules/schedules.ts';
import { tenantQuotaChangesSchema, tenantQuotasSchema } from './tenant-quotas.ts';

/**
 * The policy states what clients may configure. A YAML file (BERTH_POLICY) changes single entries of the default of the
 * hosting mode. policy-rules.ts applies it to requests.
 */

const patterns = z.array(z.string().min(1).max(253)).max(1000);
const amount = (most: number) => z.int().min(0).max(most);

/** Upper bounds of uploaded folders. An upload is not held in memory, but the paths of its entries are. */
const [MAX_PACKED_MB, MAX_UNPACKED_MB, MAX_ENTRIES] = [1024, 16 * 1024, 200_000] as const;
const MAX_UPLOADS_AT_ONCE = 8;

/** Upper bound of body sizes, because bodies are held in memory completely. */
const MAX_BODY_BYTES = 8 * 1024 * 1024;

const capsShape = {
  scale: amount(RESOURCE_LIMITS.scale).describe('Maximum number of pods of one component.'),
  cpu: z
    .number()
    .overwrite(withoutFloatNoise)
    .positive()
    .max(RESOURCE_LIMITS.cpu)
    .describe('Maximum cores of one container, for request and limit.'),
  memory_mb: amount(RESOURCE_LIMITS.memoryMb).describe(
    'Maximum memory of one container in MiB, for request and limit.',
  ),
  storage_gi: amount(RESOURCE_LIMITS.storageGi).describe('Maximum size of a database volume in GiB.'),
  ephemeral_storage_gi: amount(RESOURCE_LIMITS.storageGi).describe(
    'Maximum ephemeral storage of one container (request and limit), and maximum size of an emptyDir on disk, in GiB.',
  ),
  db_connections: amount(RESOURCE_LIMITS.dbConnections).describe(
    'Maximum number of connections of the database.',
  ),
  containers: amount(40).describe('Maximum number of init containers and sidecars together.'),
  volumes: amount(64).describe('Maximum number of volumes.'),
  secrets: amount(1000).describe('Maximum number of secrets.'),
  env_count: amount(512).describe('Maximum number of environment variables of one container.'),
  env_bytes: amount(1024 * 1024).describe(
    'Maximum size in bytes of all secrets together, and of the variables of each container.',
  ),
};
const capsSchema = z.strictObject(capsShape);
export type Caps = z.infer<typeof capsSchema>;

const policyShape = {
  pod_security: z
    .enum(POD_SECURITY_LEVELS)
    .describe('Pod Security level that securityContext and volumes must meet.'),
  security_profiles: z
    .array(z.enum(SECURITY_PROFILES))
    .max(SECURITY_PROFILES.length)
    .describe('Profiles that security_profile may have. baseline is never allowed in cloud.'),
  health_checks: z
    .strictObject({
      exec: z.boolean().describe('Whether health_checks may run commands in containers.'),
      min_period_seconds: z
        .int()
        .min(1)
        .max(HEALTH_CHECK_LIMITS.periodSeconds)
        .describe('Minimum of period_seconds of health_checks.'),
    })
    .describe('Rules for health_checks.'),
  placement: z
    .strictObject({
      selector_keys: patterns.describe(
        "Labels of nodes that node selectors and node affinity may use. '*' matches any text. The key of a match by the name of " +
          'a node is metadata.name.',
      ),
      affinity: z.boolean().describe('Whether affinity is allowed.'),
      tolerations: patterns.describe(
        "Taints that may be tolerated, as key[=value][:effect]. '*' matches any text. An absent part matches everything.",
      ),
    })
    .describe('Rules for placement, and for node selectors, affinity and tolerations of pods.'),
  secret_references: z
    .strictObject({
      labelled_only: z
        .boolean()
        .describe(
          'Whether pods may use only Secrets of the namespace that have the label berth.dev/referenceable=true: by secret_references, volumes, envFrom and valueFrom.',
        ),
      max_secrets: amount(100).describe(
        'Maximum number of different Secrets that secret_references of a deployment may name.',
      ),
    })
    .describe('Rules for Secrets that pods use.'),
  volumes: z
    .strictObject({
      nfs: z.boolean().describe('Whether nfs volumes are allowed.'),
      csi: z.boolean().describe('Whether inline csi volumes are allowed.'),
    })
    .describe('Types of volumes.'),
  resources: z
    .strictObject({
      allowed_extended: patterns.describe(
        "Resources that a container may request in addition to cpu, memory and ephemeral-storage, such as example.com/gpu or hugepages-2Mi. '*' matches any text.",
      ),
      default_limits: z
        .boolean()
        .describe(
          'Whether the cluster sets limits for containers without limits. A request above the default limit then needs ' +
            'its own limit.',
        ),
    })
    .describe('Rules for resources of containers.'),
  service_accounts: z
    .strictObject({
      allowed: patterns.describe("Names that service_account_name may have. '*' matches any text."),
      refused: patterns.describe('Names that service_account_name may not have, even if they are allowed.'),
    })
    .describe('Rules for service_account_name.'),
  service_account_token_audiences: patterns.describe(
    'Allowed audiences of projected ServiceAccount tokens. The API server is never allowed.',
  ),
  metadata: z
    .strictObject({
      refused_domains: patterns.describe(
        'Labels and annotations are rejected if the domain before the slash of their key is one of these domains, or ' +
          "is below one of these domains. '*' means every key with a domain, and every key with a dot (io.katacontainers.config.…).",
      ),
      refused_keys: patterns.describe('Keys that are rejected.'),
      allowed_keys: patterns.describe(
        "Keys that are allowed although their domain is rejected. '*' matches any text.",
      ),
    })
    .describe('Rules for labels and annotations.'),
  custom_url: z
    .strictObject({
      allowed_hosts: patterns.describe("Hosts that custom_url may have. '*' matches any text."),
      refused_hosts: patterns.describe(
        'Hosts that custom_url and domains may not have, even if they are allowed.',
      ),
    })
    .describe('Rules for custom_url.'),
  domains: z
    .strictObject({
      allowed_hosts: patterns.describe(
        "Hosts that domains may contain. '*' matches any text. In self_hosted, the default is custom_url.allowed_hosts.",
      ),
      refused_hosts: patterns.describe(
        'Hosts that domains may not contain, even if they are allowed, in addition to custom_url.refused_hosts.',
      ),
      require_proof: z
        .boolean()
        .describe(
          'Whether a host is routed only after its TXT record _berth-challenge.HOST was found with the value for the tenant.',
        ),
    })
    .describe('Rules for domains.'),
  namespaces: z
    .strictObject({
      refused: patterns.describe(
        'Namespaces that a client may not choose if the listener has no list of namespaces and therefore serves all.',
      ),
    })
    .describe('Rules for namespaces.'),
  database: z
    .strictObject({
      min_connections: amount(RESOURCE_LIMITS.dbConnections).describe(
        'Minimum number of connections of a database if db_max_connections is not set, up to the cap db_connections. ' +
          'If this number is sufficient for the largest expected scale, scaling does not restart databases. 0: as many ' +
          'connections as the scales need, in steps of 100.',
      ),
      volume_removal: z
        .boolean()
        .describe(
          'Whether database.remove_volume may delete the volume of a database that is switched off. If not, the volume is ' +
            'kept until the deployment is deleted.',
        ),
    })
    .describe('Rules for databases.'),
  uploads: z
    .strictObject({
      packed_mb: z
        .int()
        .min(1)
        .max(MAX_PACKED_MB)
        .describe('Maximum size of an uploaded folder in MiB, as it is sent.'),
      unpacked_mb: z
        .int()
        .min(1)
        .max(MAX_UNPACKED_MB)
        .describe('Maximum size of an uploaded folder in MiB without compression.'),
      entries: z
        .int()
        .min(1)
        .max(MAX_ENTRIES)
        .describe('Maximum number of files, folders and links of an uploaded folder.'),
      path_bytes: z
        .int()
        .min(1)
        .max(4096)
        .describe('Maximum length of a path in an uploaded folder, in bytes.'),
      at_once: z
        .int()
        .min(1)
        .max(MAX_UPLOADS_AT_ONCE)
        .describe(
          'Maximum number of uploads of a tenant that one API process receives at the same time. Others wait for a short time.',
        ),
    })
    .describe('Limits of uploaded folders.'),
  tasks: z
    .strictObject({
      by_custom_resource: z
        .boolean()
        .describe('Whether tasks may be created as custom resources, outside the API.'),
    })
    .describe('Tasks: commands that run once in the image of a deployment.'),
  schedules: z
    .strictObject({
      max_schedules: amount(SCHEDULE_LIMITS.schedules).describe(
        'Maximum number of schedules of a deployment.',
      ),
      min_interval_minutes: z
        .int()
        .min(1)
        .max(24 * 60)
        .describe('Minimum time between two runs of a schedule, in minutes.'),
    })
    .describe('Schedules: tasks that run at fixed times.'),
  caps: capsSchema.describe('Maximum values of single deployments.'),
  caps_by_type: z
    .strictObject(
      Object.fromEntries(
        DEPLOYMENT_TYPES.map((type) => [type, capsSchema.partial().optional().describe(`Caps of ${type}.`)]),
      ),
    )
    .describe('Different caps for a deployment_type.'),
  tenant_quotas: tenantQuotasSchema.describe(
    'Limits of the total usage of all deployments of a tenant, unless an admin sets other limits for the tenant.',
  ),
  tenant_counts: tenantCountsSchema.describe('Limits of the other objects of a tenant.'),
  body_bytes: z
    .int()
    .min(1024)
    .max(MAX_BODY_BYTES)
    .describe('Maximum size of a request body in bytes, except for requests of listeners.'),
  access: accessPolicySchema.describe(
    'Roles of people who sign in. The API applies a change of this entry without a restart.',
  ),
};

/** A complete policy. */
export const policySchema = z.strictObject(policyShape);
export type Policy = z.infer<typeof policySchema>;

/**
 * The content of the file BERTH_POLICY, which is any part of a policy. All other entries have the default of the
 * hosting mode. Lists are replaced.
 */
export const policyFileSchema = z
  .strictObject({
    pod_security: policyShape.pod_security.optional(),
    security_profiles: policyShape.security_profiles.optional(),
    health_checks: policyShape.health_checks.partial().optional(),
    placement: policyShape.placement.partial().optional(),
    secret_references: policyShape.secret_references.partial().optional(),
    volumes: policyShape.volumes.partial().optional(),
    resources: policyShape.resources.partial().optional(),
    service_accounts: policyShape.service_accounts.partial().optional(),
    service_account_token_audiences: policyShape.service_account_token_audiences.optional(),
    metadata: policyShape.metadata.partial().optional(),
    custom_url: policyShape.custom_url.partial().optional(),
    domains: policyShape.domains.partial().optional(),
    namespaces: policyShape.namespaces.partial().optional(),
    database: policyShape.database.partial().optional(),
    uploads: policyShape.uploads.partial().optional(),
    tasks: policyShape.tasks.partial().optional(),
    schedules: policyShape.schedules.partial().optional(),
    caps: capsSchema.partial().optional(),
    caps_by_type: policyShape.caps_by_type.optional(),
    tenant_quotas: tenantQuotaChangesSchema.optional(),
    tenant_counts: tenantCountsSchema.partial().optional(),
    body_bytes: policyShape.body_bytes.optional(),
    access: policyShape.access.partial().optional(),
  })
  .describe('What clients may configure.');
export type PolicyFile = z.infer<typeof policyFileSchema>;

/** Reserved namespaces, in addition to that of Berth itself: see hub/api/deployments/deployment-placement.ts. */
const SYSTEM_NAMESPACES = ['kube-*', 'berth-system', 'berth-builds'];

const UPLOADS: Policy['uploads'] = {
  packed_mb: 64,
  unpacked_mb: 512,
  entries: 50_000,
  path_bytes: 1024,
  at_once: 2,
};

const SELF_HOSTED: Policy = {
  pod_security: 'baseline',
  security_profiles: ['baseline', 'restricted'],
  health_checks: { exec: true, min_period_seconds: 1 },
  placement: { selector_keys: ['*'], affinity: true, tolerations: [] },
  secret_references: { labelled_only: false, max_secrets: 100 },
  volumes: { nfs: true, csi: true },
  resources: { allowed_extended: ['*'], default_limits: false },
  service_accounts: { allowed: ['*'], refused: ['berth-api', 'berth-listener', 'berth-operator'] },
  service_account_token_audiences: [],
  metadata: { refused_domains: [], refused_keys: [], allowed_keys: [] },
  custom_url: { allowed_hosts: ['*'], refused_hosts: [] },
  domains: { allowed_hosts: ['*'], refused_hosts: [], require_proof: false },
  namespaces: { refused: SYSTEM_NAMESPACES },
  database: { min_connections: 0, volume_removal: true },
  uploads: UPLOADS,
  tasks: { by_custom_resource: true },
  schedules: { max_schedules: SCHEDULE_LIMITS.schedules, min_interval_minutes: 1 },
  caps: {
    scale: RESOURCE_LIMITS.scale,
    cpu: RESOURCE_LIMITS.cpu,
    memory_mb: RESOURCE_LIMITS.memoryMb,
    storage_gi: RESOURCE_LIMITS.storageGi,
    ephemeral_storage_gi: RESOURCE_LIMITS.storageGi,
    db_connections: RESOURCE_LIMITS.dbConnections,
    containers: 40,
    volumes: 64,
    secrets: 1000,
    env_count: 512,
    env_bytes: 768 * 1024,
  },
  caps_by_type: {},
  tenant_quotas: { deployments: null, cpu: null, memory_mb: null, storage_gi: null },
  tenant_counts: SELF_HOSTED_COUNTS,
  body_bytes: 1024 * 1024,
  access: NO_ACCESS,
};

const CLOUD: Policy = {
  pod_security: 'restricted',
  security_profiles: ['restricted'],
  health_checks: { exec: true, min_period_seconds: 5 },
  placement: { selector_keys: [], affinity: false, tolerations: [] },
  secret_references: { labelled_only: true, max_secrets: 20 },
  volumes: { nfs: false, csi: false },
  resources: { allowed_extended: [], default_limits: true },
  service_accounts: { allowed: [], refused: [] },
  service_account_token_audiences: [],
  // Domains of controllers that act on labels and annotations: meshes, injectors, networks, cloud identities,
  // autoscalers.
  metadata: { refused_domains: ['*'], refused_keys: ['aadpodidbinding'], allowed_keys: [] },
  // No allowed hosts, so that only the server sets custom_url. With allowed hosts, a tenant could use hosts of other
  // tenants under the domain of the platform.
  custom_url: { allowed_hosts: [], refused_hosts: [] },
  // A policy file that allows hosts asks for proof, unless it says otherwise.
  domains: { allowed_hosts: [], refused_hosts: [], require_proof: true },
  namespaces: { refused: ['*'] },
  database: { min_connections: 0, volume_removal: true },
  uploads: UPLOADS,
  tasks: { by_custom_resource: false },
  schedules: { max_schedules: 10, min_interval_minutes: 5 },
  caps: {
    scale: 50,
    cpu: 32,
    memory_mb: 128 * 1024,
    storage_gi: 1024,
    ephemeral_storage_gi: 50,
    db_connections: 5000,
    containers: 10,
    volumes: 32,
    secrets: 250,
    env_count: 256,
    env_bytes: 256 * 1024,
  },
  caps_by_type: {
    dev_free: { scale: 1, cpu: 2, memory_mb: 4096, storage_gi: 10, db_connections: 200, containers: 4 },
    dev: { scale: 5, cpu: 8, memory_mb: 16 * 1024, storage_gi: 100, db_connections: 500 },
  },
  tenant_quotas: { deployments: 100, cpu: 256, memory_mb: 512 * 1024, storage_gi: 2048, uploads_mb: 10_240 },
  tenant_counts: CLOUD_COUNTS,
  body_bytes: 512 * 1024,
  access: NO_ACCESS,
};

/** The default policy of each hosting mode. */
export const DEFAULT_POLICIES: Readonly<Record<HostingMode, Policy>> = {
  self_hosted: SELF_HOSTED,
  cloud: CLOUD,
};

type CapsByType = Policy['caps_by_type'];

/** Merges single caps, so that a file that changes one cap of a type does not change its other caps. */
function mergeCapsByType(base: CapsByType, changes: CapsByType = {}): CapsByType {
  const types = DEPLOYMENT_TYPES.filter((type) => base[type] !== undefined || changes[type] !== undefined);
  return Object.fromEntries(types.map((type) => [type, { ...base[type], ...changes[type] }]));
}

/**
 * The additional hosts that are allowed if the file does not name them: those of custom_url, so that a file that limits
 * custom_url also limits domains. A file that allows hosts of custom_url in cloud allows no domains.
 */
function defaultDomains({ domains }: Policy, { custom_url }: PolicyFile): Policy['domains']['allowed_hosts'] {
  return domains.allowed_hosts.length === 0
    ? domains.allowed_hosts
    : (custom_url?.allowed_hosts ?? domains.allowed_hosts);
}

/** The default of the hosting mode with the entries of a file. */
export function resolvePolicy(hosting: HostingMode, file: PolicyFile = {}): Policy {
  const base = DEFAULT_POLICIES[hosting];
  return {
    pod_security: file.pod_security ?? base.pod_security,
    security_profiles: file.security_profiles ?? base.security_profiles,
    health_checks: { ...base.health_checks, ...file.health_checks },
    placement: { ...base.placement, ...file.placement },
    secret_references: { ...base.secret_references, ...file.secret_references },
    volumes: { ...base.volumes, ...file.volumes },
    resources: { ...base.resources, ...file.resources },
    service_accounts: { ...base.service_accounts, ...file.service_accounts },
    service_account_token_audiences:
      file.service_account_token_audiences ?? base.service_account_token_audiences,
    metadata: { ...base.metadata, ...file.metadata },
    custom_url: { ...base.custom_url, ...file.custom_url },
    domains: {
      ...base.domains,
      allowed_hosts: file.domains?.allowed_hosts ?? defaultDomains(base, file),
      ...file.domains,
    },
    namespaces: { ...base.namespaces, ...file.namespaces },
    database: { ...base.database, ...file.database },
    uploads: { ...base.uploads, ...file.uploads },
    tasks: { ...base.tasks, ...file.tasks },
    schedules: { ...base.schedules, ...file.schedules },
    caps: { ...base.caps, ...file.caps },
    caps_by_type: mergeCapsByType(base.caps_by_type, file.caps_by_type),
    tenant_quotas: { ...base.tenant_quotas, ...file.tenant_quotas },
    tenant_counts: { ...base.tenant_counts, ...file.tenant_counts },
    body_bytes: file.body_bytes ?? base.body_bytes,
    access: { ...base.access, ...file.access },
  };
}

/** The caps of a deployment_type. null: no type. */
export function capsFor(policy: Policy, type: DeploymentType | null): Caps {
  return { ...policy.caps, ...(type === null ? {} : policy.caps_by_type[type]) };
}

/** The largest value of each cap over all types, for callers that do not know the deployment_type. */
export function largestCaps(policy: Policy): Caps {
  const all = [policy.caps, ...DEPLOYMENT_TYPES.map((type) => capsFor(policy, type))];
  const caps = Object.keys(policy.caps) as (keyof Caps)[];
  return Object.fromEntries(caps.map((cap) => [cap, Math.max(...all.map((each) => each[cap]))])) as Caps;
}

/** Whether a text matches one of the patterns. `*` matches any characters. */
export function matchesAny(text: string, wanted: readonly string[]): boolean {
  return wanted.some((pattern) => matches(text, pattern));
}

/** Whether a case-insensitive name matches one of the patterns. */
export function matchesAnyCase(text: string, wanted: readonly string[]): boolean {
  const lower = text.toLowerCase();
  return wanted.some((pattern) => matches(lower, pattern.toLowerCase()));
}

/** Matches each part at its first position, without backtracking, so that patterns with many stars are fast. */
function matches(text: string, pattern: string): boolean {
  const [head = '', ...parts] = pattern.split('*');
  const tail = parts.pop();
  if (tail === undefined) return text === head;
  if (!text.startsWith(head)) return false;
  let at = head.length;
  for (const part of parts) {
    const found = text.indexOf(part, at);
    if (found < 0) return false;
    at = found + part.length;
  }
  return text.length - tail.length >= at && text.endsWith(tail);
}
