import type { BodyIssue } from '../../../domain/core/body-issue.ts';
import { below } from '../../../domain/core/body-issue.ts';
import { uuidv7 } from '../../../domain/core/id.ts';
import type { Secret, SourceConfig, SourceRevisionConfig } from '../../../domain/deployment/deployment.ts';
import type { Source } from '../../../domain/deployment/source.ts';
import { repositoryUrlSchema } from '../../../domain/net/https-url.ts';
import { pinnedImage } from '../../../domain/net/image-reference.ts';
import { hostOf } from '../../../domain/net/url-host.ts';
import { dataServiceIssues } from '../../../domain/pod-settings/data-services.ts';
import { withDefaultCeilings } from '../../../domain/policy/default-ceilings.ts';
import { policyViolations } from '../../../domain/policy/policy-rules.ts';
import { specRuleIssues } from '../../../domain/resource-spec/spec-rules.ts';
import { withCommandComponents } from '../../../domain/run-settings/command-components.ts';
import { namesOf, servicesNotRun } from '../../../domain/run-settings/revision-content.ts';
import type { RunSettings } from '../../../domain/run-settings/run-settings.ts';
import { scheduleComponentIssues } from '../../../domain/schedules/schedule-components.ts';
import { isBuilt } from '../../../domain/uploads/upload.ts';
import { UniqueViolation } from '../../store/core/errors.ts';
import type { NewRevision } from '../../store/core/records.ts';
import { HostTaken } from '../../store/deployments/taken-host.ts';
import type { ApiDeps } from '../core/deps.ts';
import { ApiError, wrongShape } from '../core/errors.ts';

/** Validation that POST and PATCH of deployments share, for changes and dry runs. */

export interface RequestedDeployment {
  readonly sourceConfig: SourceConfig;
  readonly sourceRevisionConfig: SourceRevisionConfig;
  /** The stored state; absent: the deployment is new. */
  readonly stored?: {
    readonly sourceConfig: SourceConfig;
    readonly sourceRevisionConfig: SourceRevisionConfig;
    /**
     * The volume of a database that Berth does not run now (deployment-quota.ts); null: the database is in the cluster.
     */
    readonly keptVolumeGi: number | null;
    /** Empty: the deployment has no secrets, or they cannot be decrypted. */
    readonly secrets: readonly Secret[];
  };
  readonly secrets: readonly Secret[];
  readonly appName: string;
}

/**
 * The URL that the server assigns to a deployment: in cloud mode, below the platform's domain; null: the server assigns
 * no URL.
 */
export function serverUrl({ hosting, appDomain }: ApiDeps, appName: string): string | null {
  return hosting === 'cloud' && appDomain !== null ? `https://${appName}.${appDomain}` : null;
}

/** The required owner of repositories in the registry; null: the registry does not use the hub for authorization. */
export function repositoryOwner<Owner>({ registryAuthority }: ApiDeps, owner: Owner): Owner | null {
  return registryAuthority == null ? null : owner;
}

/**
 * Checks whether this installation may call the host of a repository. The result is a 422, because the check belongs to
 * the shape of the body, although it depends on a setting.
 * @throws ApiError 422 for a private address
 */
export function checkRepositoryHost({ gitHost }: ApiDeps, url: string | null | undefined): void {
  if (url == null || gitHost.allowsPrivate) return;
  const [issue] = repositoryUrlSchema.safeParse(url).error?.issues ?? [];
  if (issue === undefined) return;
  throw wrongShape([{ loc: ['body', 'source_config', 'repo_url'], msg: issue.message, type: issue.code }]);
}

/** The settings of a repository or an uploaded folder, whose Procfile can create the queue component later. */
function withPossibleWorker({ repo_url }: SourceConfig, settings: WithUpload): RunSettings {
  if (repo_url === null && settings.upload === undefined) return settings;
  return { ...settings, procfile: { worker: 'any', ...settings.procfile } };
}

type WithUpload = RunSettings & Pick<SourceRevisionConfig, 'upload'>;

/** source_config with the limits of defaults that the policy sets now, also for components that commands create. */
export function withCeilings(
  { policy }: Pick<ApiDeps, 'policy'>,
  sourceConfig: SourceConfig,
  settings: WithUpload,
): SourceConfig {
  const { default_ceilings: _former, ...config } = sourceConfig;
  const { default_ceilings } = withDefaultCeilings(
    withCommandComponents(config, withPossibleWorker(config, settings)),
    policy,
  );
  return default_ceilings === undefined ? config : { ...config, default_ceilings };
}

/** The rules across the fields of resource_spec, then the policy. Each field is reported once. */
export function deploymentIssues(deps: ApiDeps, wanted: RequestedDeployment): BodyIssue[] {
  const { sourceRevisionConfig, stored, secrets, appName } = wanted;
  const { env = [], secretReferences: references = [] } = sourceRevisionConfig;
  const sourceConfig = withCommandComponents(wanted.sourceConfig, sourceRevisionConfig);
  const hasNoDatabase = servicesNotRun(sourceConfig, namesOf(secrets), sourceRevisionConfig).database;
  const specIssues = specRuleIssues({
    spec: sourceConfig.resource_spec ?? {},
    deploymentType: sourceConfig.deployment_type,
    customDatabase: hasNoDatabase,
  });
  const keptVolumeGi = hasNoDatabase ? null : (stored?.keptVolumeGi ?? null);
  const view = {
    sourceConfig,
    ...(stored === undefined
      ? {}
      : {
          stored: stored.sourceConfig,
          storedSecrets: stored.secrets,
          storedEnv: stored.sourceRevisionConfig.env ?? [],
          storedReferences: stored.sourceRevisionConfig.secretReferences ?? [],
        }),
    ...(keptVolumeGi === null ? {} : { keptVolumeGi }),
    secrets,
    env,
    references,
    appName,
    serverUrl: serverUrl(deps, appName),
    ownHost: hostOf(deps.publicUrl),
    platformHosts: deps.platformHosts ?? [],
    appDomain: deps.appDomain,
  };
  return [
    ...below(['source_config', 'resource_spec'], specIssues),
    ...dataServiceIssues(sourceConfig),
    ...scheduleComponentIssues(
      withCommandComponents(sourceConfig, withPossibleWorker(sourceConfig, sourceRevisionConfig)),
    ),
    ...policyViolations(view, deps.policy),
  ];
}

/**
 * A revision to create. A revision with an image waits for the listener, and a revision with a source waits for its
 * build.
 * @param resolvedImage digest-pinned image; null: not known, or to be built
 */
export function newRevision(
  source: Source,
  config: SourceRevisionConfig,
  resolvedImage: string | null = pinnedImage(config.image_uri),
): NewRevision {
  const id = uuidv7();
  if (isBuilt(source, config) && config.image_uri === null && resolvedImage === null) {
    const from = config.upload === undefined ? 'repository' : 'uploaded folder';
    return {
      id,
      status: 'AWAITING_BUILD',
      reason: 'AwaitingBuild',
      message: `The image will be built from the ${from}.`,
    };
  }
  return { id, status: 'QUEUED', ...(resolvedImage === null ? {} : { resolvedImage }) };
}

/**
 * The response to a write that conflicts with a unique value of another deployment. Other errors are returned
 * unchanged.
 */
export function conflict(error: unknown): unknown {
  if (!(error instanceof UniqueViolation)) return error;
  if (error.constraint === 'deployments_name') {
    return new ApiError(409, 'Another deployment has this name (name).');
  }
  const text = HOST_CONFLICTS[error.constraint];
  if (text === undefined) return error;
  return new ApiError(
    409,
    error instanceof HostTaken ? text(error.host, `source_config.${error.field}`) : text(...ANY_HOST),
  );
}

/** The host of a conflict that disappears before the host is known. */
const ANY_HOST = ['of the deployment', 'source_config.custom_url or source_config.domains'] as const;

const inUse = (host: string, field: string) => `Another deployment uses the host ${host} (${field}).`;

/** The conflicts of hosts, by constraint. The messages name only the host of the request. */
const HOST_CONFLICTS: Readonly<Record<string, (host: string, field: string) => string>> = {
  deployments_route_host: inUse,
  deployment_hosts_pkey: inUse,
  leaving_hosts_pkey: (host, field) =>
    `Another deployment is releasing the host ${host} (${field}). The host is available when the route of that ` +
    'deployment is removed. Try again in a moment.',
  kept_hosts_pkey: (host, field) =>
    `The host ${host} (${field}) is still routed to workloads of another tenant that Berth no longer manages. The ` +
    'administrator of the platform can free the host when the routes of those workloads are removed.',
};

/** An error that carries the result of a dry run out of the transaction, which is rolled back. */
class DryRunResult<T> extends Error {
  readonly result: T;
  constructor(result: T) {
    super('the transaction of a dry run is rolled back');
    this.result = result;
  }
}

/**
 * Runs `transact` and rolls it back. The same statements run as for a real change, but none of their effects is kept.
 */
export async function rolledBack<T, X>(
  transact: (work: (transaction: X) => Promise<T>) => Promise<T>,
  work: (transaction: X) => Promise<T>,
): Promise<T> {
  try {
    return await transact(async (transaction) => {
      throw new DryRunResult(await work(transaction));
    });
  } catch (error) {
    if (error instanceof DryRunResult) return error.result as T;
    throw error;
  }
}
