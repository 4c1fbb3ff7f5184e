import { uuidv7 } from '../../../domain/core/id.ts';
import { configChanges, secretChanges } from '../../../domain/deployment/field-changes.ts';
import type { ApiDeps } from '../core/deps.ts';
import { changing, readRendering } from '../deployments/deployment-change.ts';
import { desiredNow, manifestChangeOf } from '../deployments/deployment-dry-run.ts';
import { lockForChange } from '../deployments/deployment-lock.ts';
import { manifestsOf, rolledParts } from '../deployments/deployment-manifests.ts';
import type { RevisionDryRun } from '../deployments/deployment-schema.ts';
import { readableSecrets } from '../deployments/deployment-secrets.ts';
import { type RepeatRequest, repeatIn } from './redeploy.ts';
import { releaseOutlook } from './run-settings-response.ts';

export interface RepeatPreview {
  readonly outlook: RevisionDryRun;
  /** The generation of the deployment, for its ETag. */
  readonly generation: number;
}

/**
 * The effects that a new revision with the content of an existing revision would have. The revision is written as in a real request, in
 * a transaction that is rolled back. @throws ApiError 400, 404, 409, 412
 */
export function previewRepeat(deps: ApiDeps, request: RepeatRequest): Promise<RepeatPreview> {
  return changing(deps, { tenantId: request.tenantId, dryRun: true }, async (transaction) => {
    const { id, generation } = await lockForChange(transaction, request);
    const dueBefore = await desiredNow(transaction, id);
    const { before, after, revision, secrets } = await repeatIn(deps, transaction, request, uuidv7());
    const manifests = await manifestChangeOf(deps, transaction, {
      before: { record: before, due: dueBefore },
      after: { record: after, due: await desiredNow(transaction, id) },
    });
    const config = await readRendering(transaction, before);
    const builds = revision.status === 'AWAITING_BUILD';
    const rolls = rolledParts(manifests, { builds, config });
    const outlook = {
      manifests: manifestsOf(manifests.after, config, manifests.served?.after),
      new_revision: true,
      builds,
      pods_roll: rolls.length > 0,
      rolls,
      ...releaseOutlook(revision.sourceRevisionConfig),
      changes: [
        ...configChanges(before, after),
        ...secretChanges(readableSecrets(deps.secretBox, before) ?? [], secrets),
      ],
    };
    return { outlook, generation };
  });
}
