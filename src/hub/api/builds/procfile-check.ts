import type { BuildFailureReason } from '../../../domain/builds/build.ts';
import type { BodyIssue } from '../../../domain/core/body-issue.ts';
import { UUID_PATTERN } from '../../../domain/core/id.ts';
import type { BuildReport, ClusterReport } from '../../../domain/deployment/cluster-report.ts';
import type { Secret } from '../../../domain/deployment/deployment.ts';
import { policyViolations } from '../../../domain/policy/policy-rules.ts';
import { specRuleIssues } from '../../../domain/resource-spec/spec-rules.ts';
import { commandComponents, withCommandComponents } from '../../../domain/run-settings/command-components.ts';
import type { Procfile } from '../../../domain/run-settings/procfile.ts';
import { namesOf, servicesNotRun } from '../../../domain/run-settings/revision-content.ts';
import { findUnbuilt } from '../../store/builds/unbuilt-revisions.ts';
import type { Database, Scope, Transaction } from '../../store/core/database.ts';
import type { DeploymentRecord } from '../../store/core/records.ts';
import { findDeployment } from '../../store/deployments/deployments.ts';
import { findRevision, type RevisionRecord } from '../../store/deployments/revisions.ts';
import type { ApiDeps } from '../core/deps.ts';
import { quotaProblems } from '../deployments/deployment-quota.ts';
import { readableSecrets } from '../deployments/deployment-secrets.ts';

/**
 * A Procfile can create a component, which the API could not check when the revision was requested. So the hub checks the
 * component when the build is reported, against the same rules, policy and quotas as in a request.
 */

type CheckDeps = Pick<ApiDeps, 'policy' | 'secretBox'> & { readonly database: Database };

interface Built {
  readonly deployment: DeploymentRecord;
  readonly revision: RevisionRecord;
  readonly procfile: Procfile;
}

/** The rules and the policy for sizes, with the components of these commands. */
function sizeIssues(
  { policy }: CheckDeps,
  { sourceConfig, appName }: DeploymentRecord,
  settings: RevisionRecord['sourceRevisionConfig'],
  secrets: readonly Secret[],
): BodyIssue[] {
  const whole = withCommandComponents(sourceConfig, settings);
  const { env = [] } = settings;
  const stored = { stored: sourceConfig, storedSecrets: secrets, storedEnv: env };
  const view = { sourceConfig: whole, secrets, env, ...stored, appName, serverUrl: null, ownHost: null };
  return [
    ...specRuleIssues({
      spec: whole.resource_spec ?? {},
      deploymentType: whole.deployment_type,
      customDatabase: servicesNotRun(sourceConfig, namesOf(secrets), settings).database,
    }),
    ...policyViolations(view, policy),
  ];
}

async function issuesOf(
  deps: CheckDeps,
  transaction: Transaction,
  { deployment, revision, procfile }: Built,
): Promise<BodyIssue[]> {
  const { sourceConfig, tenantId, id: deploymentId } = deployment;
  const { sourceRevisionConfig: stored } = revision;
  const sourceRevisionConfig = { ...stored, procfile };
  const spec = sourceConfig.resource_spec ?? {};
  const before = commandComponents(spec, stored);
  if (commandComponents(spec, sourceRevisionConfig).every((name) => before.includes(name))) return [];
  const secrets = readableSecrets(deps.secretBox, revision) ?? [];
  // Stored values are not checked again, because the rules or the policy may be newer.
  const known = new Set(sizeIssues(deps, deployment, stored, secrets).map((issue) => JSON.stringify(issue)));
  const asked = { deploymentId, sourceConfig, sourceRevisionConfig, secretNames: namesOf(secrets) };
  return [
    ...sizeIssues(deps, deployment, sourceRevisionConfig, secrets).filter(
      (issue) => !known.has(JSON.stringify(issue)),
    ),
    ...(await quotaProblems(deps, transaction, tenantId, asked)).issues,
  ];
}

/** Why the commands of a Procfile cannot be used. null: they can, or the revision is built already. */
async function problemOf(
  deps: CheckDeps,
  scope: Scope,
  listenerId: string,
  ref: { readonly deploymentId: string; readonly revisionId: string; readonly procfile: Procfile },
): Promise<string | null> {
  const { deploymentId, revisionId, procfile } = ref;
  if (!UUID_PATTERN.test(revisionId)) return null;
  const tenantId = await scope.read((reader) =>
    findUnbuilt(reader, { listenerId, deploymentId, revisionId }),
  );
  if (tenantId === null) return null;
  // Locks taken for the quotas end before the report locks the deployment.
  const issues = await deps.database.forTenant(tenantId).transaction(async (transaction) => {
    const deployment = await findDeployment(transaction, tenantId, deploymentId);
    const revision = await findRevision(transaction, tenantId, deploymentId, revisionId);
    if (deployment === null || revision === null) return [];
    return issuesOf(deps, transaction, { deployment, revision, procfile });
  });
  const [first] = issues;
  if (first === undefined) return null;
  const field = first.loc.filter((step) => step !== 'source_config' && step !== 'resource_spec').join('.');
  return (
    `the worker of the Procfile creates the queue component, which is not allowed: ` +
    `${field === '' ? '' : `${field} `}${first.msg}; change source_config.resource_spec or the quota, and create a new revision`
  );
}

const REASON: BuildFailureReason = 'BuildConfigInvalid';

function failed(build: BuildReport, message: string): BuildReport {
  const { image: _image, commit: _commit, procfile: _procfile, ...others } = build;
  return { ...others, phase: 'Failed', reason: REASON, message };
}

/** The reports, in which a build whose Procfile is not allowed has failed. */
export async function checkProcfiles(
  deps: CheckDeps,
  scope: Scope,
  listenerId: string,
  reports: readonly ClusterReport[],
): Promise<ClusterReport[]> {
  const checked: ClusterReport[] = [];
  for (const report of reports) {
    const build = report.kind === 'observed' ? report.build : null;
    const procfile = build?.phase === 'Succeeded' ? build.procfile : undefined;
    if (report.kind !== 'observed' || !build || procfile?.worker === undefined) {
      checked.push(report);
      continue;
    }
    const { deploymentId } = report;
    const ref = { deploymentId, revisionId: build.revisionId, procfile };
    const problem = await problemOf(deps, scope, listenerId, ref);
    checked.push(problem === null ? report : { ...report, build: failed(build, problem) });
  }
  return checked;
}
