/** The design's table of inputs as custom resources, and what only a custom resource can say. */
import type { HostingMode } from '../../../src/domain/deployment/source.ts';
import type { Client } from './api.ts';
import {
  BASE,
  build,
  type CustomResourceRow,
  helper,
  LARGE,
  NOT_IN_THE_API,
  NOT_IN_THE_CONTRACT,
  proto,
  type Step,
} from './custom-resource-rows.ts';
import { isSize, SIZES } from './custom-resource-sizes.ts';
import { rows, type SecurityRow } from './security-table.ts';

/** Taken, and harms nobody. */
export interface ConfinedRow {
  readonly what: string;
  readonly spec: Record<string, unknown>;
}

const FIELDS: Readonly<Record<string, string>> = {
  service_account_name: 'serviceAccountName',
  image_pull_secrets: 'imagePullSecrets',
  volume_mounts: 'volumeMounts',
  init_containers: 'initContainers',
};

/** Nothing runs. */
const OFF = { suspend: true };

/** Names of networks: a route of one leads nobody anywhere, and the domain of a platform may be anything. */
const NETWORK_HOST = /^(localhost|kubernetes\.default\.svc|a\.svc\.cluster\.local)$/;

/**
 * Why a case of the table is none of a custom resource's, or not one that is refused; null: it is.
 * A namespace: the resource is where it is. Secrets: none is in it. Sizes: docs/decisions/0044-policy-for-custom-resources.md. The hosts that
 * a policy allows: the URL that the server gives is none of them, and only the hub knows it; whose a host is, and the platform's
 * own: host-claims.test.ts. Hosts of a network are among `confinedRows`, addresses of repositories among
 * `PRIVATE_REPOSITORIES`.
 */
export function reasonNotSent({ row, what, body, self_hosted }: SecurityRow): string | null {
  if (row === 'namespace') return 'place';
  const { source_config: config = {}, secrets } = body({ tenantId: '' } as Client) as {
    source_config?: { resource_spec?: object; deployment_type?: string };
    secrets?: unknown;
  };
  if (secrets !== undefined) return 'secrets';
  if (config.deployment_type !== undefined) return 'deployment_type';
  if (self_hosted === 'allowed' && Object.keys(config.resource_spec ?? {}).some(isSize)) return 'quota';
  if (row === 'custom_url' && /^a host$|the platform's own$|capitals$/.test(what))
    return 'host of the policy';
  // Such a host has no route, and status.domains says why: domains.test.ts of the operator.
  if (row === 'domains' && /^(a host|the platform's own.*|127\.0\.0\.1)$/.test(what))
    return 'host of the policy';
  if (row === 'custom_url' && NETWORK_HOST.test(what)) return 'host of a network';
  if (row === 'repo_url' && /^https(:\/\/[^@]*)?$/.test(what)) return 'address';
  return null;
}

function specOf(row: SecurityRow): Record<string, unknown> {
  const { source_config: config } = row.body({ tenantId: '' } as Client) as {
    source_config: { resource_spec?: object; custom_url?: string; domains?: string[]; repo_url?: string };
  };
  const { resource_spec: spec = {}, custom_url: url, domains, repo_url: repoUrl } = config;
  const fields = Object.entries(spec);
  const sizes = fields.flatMap(([field, value]) =>
    isSize(field) ? [SIZES[field]?.spec(value as number)] : [],
  );
  const podTemplate = Object.fromEntries(
    fields.flatMap(([field, value]) => (isSize(field) ? [] : [[FIELDS[field] ?? field, value]])),
  );
  const build = { revisionId: 'r', number: 1, configPath: 'app.json', repository: 'r/r', secretName: 's' };
  return {
    ...BASE,
    ...Object.assign({}, ...sizes),
    podTemplate,
    ...(url === undefined ? {} : { routing: { url } }),
    ...(domains === undefined ? {} : { routing: { domains } }),
    ...(repoUrl === undefined ? {} : { build: { ...build, repoUrl } }),
  };
}

/** Every field of the custom resource on the way to what is refused: the last alone may be a word that all refusals have. */
function namedBy(path: readonly Step[]): string[] {
  const [, first, size, ...below] = path;
  if (first === 'custom_url') return ['routing.url'];
  if (first === 'domains') return ['routing.domains'];
  if (first === 'repo_url') return ['build.repoUrl'];
  // As a whole it may be too large.
  if (size === undefined) return ['podTemplate', 'larger than'];
  if (typeof size === 'string' && isSize(size) && below.length === 0) return [SIZES[size]?.field ?? ''];
  const steps = path.slice(2).filter((step) => typeof step === 'string');
  return ['podTemplate', ...steps.map((step) => FIELDS[step] ?? step)];
}

/** Of the table, what a custom resource has no field for. */
const NO_FIELD =
  /^(a pull secret of another namespace|hostPath|hostNetwork|hostPID|hostIPC|hostUsers|nodeName|node_name|nodeSelector|affinity|tolerations|priorityClassName|runtimeClassName|schedulerName|securityContext|ephemeralContainers|automountServiceAccountToken|hostPort|hooks|devices)$/;

/** `['source_config', 'resource_spec', 'volumes', 0, 'hostPath']` → where that is in a custom resource. */
function unknownAt({ what }: SecurityRow, path: readonly Step[]): { unknown?: readonly Step[] } {
  const [, , first, ...rest] = path;
  if (first === undefined || !NO_FIELD.test(what)) return {};
  return { unknown: ['podTemplate', FIELDS[first] ?? first, ...rest] };
}

/** Cases of the table that are not sent as a custom resource, by reason. */
export function droppedRows(): Record<string, string[]> {
  const dropped = rows.flatMap((row) => {
    const why = reasonNotSent(row);
    return why === null ? [] : [{ why, name: `${row.row}: ${row.what}` }];
  });
  const groups = [...Map.groupBy(dropped, ({ why }) => why)];
  return Object.fromEntries(groups.map(([why, cases]) => [why, cases.map(({ name }) => name)]));
}

/** What the policy of cloud alone refuses of the sizes: taken as a custom resource. */
export const sizesAboveCloud = rows
  .filter((row) => reasonNotSent(row) === 'quota' && row.cloud !== 'allowed')
  .map((row) => ({ what: row.what, spec: specOf(row) }));

/** Everything that is refused in this hosting mode. */
export function customResourceRows(hosting: HostingMode): CustomResourceRow[] {
  const ofTable = rows.flatMap((row): CustomResourceRow[] => {
    const expected = row[hosting];
    if (expected === 'allowed' || reasonNotSent(row) !== null) return [];
    const [, ...path] = expected;
    const unknown = unknownAt(row, path);
    return [{ row: row.row, what: row.what, spec: specOf(row), named: namedBy(path), ...unknown }];
  });
  return [...ofTable, ...NOT_IN_THE_API, ...LARGE, ...NOT_IN_THE_CONTRACT];
}

/** What is stored of a row with an unknown field, and nothing of it is to run. */
export function withoutUnknown({ spec, unknown = [] }: CustomResourceRow): Record<string, unknown> {
  const copy = structuredClone(spec);
  const last = unknown.at(-1) ?? '';
  const holder = unknown.slice(0, -1).reduce((at: object, step) => Reflect.get(at, step) as object, copy);
  Reflect.deleteProperty(holder, last);
  return copy;
}

export const switchedOff = (spec: object): Record<string, unknown> => ({ ...spec, ...OFF });

/** Hosts of routes that lead nobody anywhere. */
export const NETWORK_HOSTS = rows
  .filter(({ row, what }) => row === 'custom_url' && NETWORK_HOST.test(what))
  .map(({ what }) => what);

/** Names that a map may have for the API server, and that mean nothing. */
export const confinedRows: readonly ConfinedRow[] = [
  { what: 'a label', spec: { ...BASE, podTemplate: { labels: proto('x') } } },
  { what: 'an annotation', spec: { ...BASE, podTemplate: { annotations: proto('x') } } },
  {
    what: 'a limit',
    spec: { ...BASE, podTemplate: { sidecars: [{ ...helper, resources: { limits: proto('1') } }] } },
  },
];

/** https addresses of repositories that the API refuses. */
export const PRIVATE_REPOSITORIES = rows
  .filter((row) => reasonNotSent(row) === 'address' && row.cloud !== 'allowed')
  .map(({ what }) => what);

export const routed = (url: string) => ({ ...BASE, routing: { url } });

/** Nothing but a build. */
export const built = (repoUrl: string, secretName: string) => ({
  ...BASE,
  revision: {},
  build: { ...build, repoUrl, secretName },
});
