import type { FastifyInstance } from 'fastify';
import type { ZodTypeProvider } from 'fastify-type-provider-zod';
import type { BodyIssue } from '../../../domain/core/body-issue.ts';
import {
  type ChangeSecretsBody,
  changeSecretsBodySchema,
  mergeSecrets,
} from '../../../domain/deployment/secret-changes.ts';
import type { Transaction } from '../../store/core/database.ts';
import type { Actor } from '../../store/core/events.ts';
import type { DeploymentRecord } from '../../store/core/records.ts';
import { openSecrets } from '../../store/secrets/secret-box.ts';
import { actorOf, tenantOf } from '../core/auth.ts';
import type { ApiDeps } from '../core/deps.ts';
import { ApiError, brokenRules } from '../core/errors.ts';
import { etag, ifMatchHeaders } from '../core/etag.ts';
import { deploymentParams, noQuery } from '../core/query.ts';
import { errorAnswers } from '../openapi/error-schema.ts';
import { changeIn, changing } from './deployment-change.ts';
import { lockForChange } from './deployment-lock.ts';
import { conflict } from './deployment-rules.ts';
import { changedSecretsSchema } from './deployment-schema.ts';

/** Changes of single secrets. The effect is that of a PATCH of the deployment with the merged list. */

interface SecretsRequest {
  readonly tenantId: string;
  readonly deploymentId: string;
  readonly actor: Actor;
  readonly body: ChangeSecretsBody;
  readonly ifMatch: string | undefined;
}

/** The deployment after the change, with the names of its secrets. */
interface ChangedSecrets {
  readonly record: DeploymentRecord;
  readonly names: readonly string[];
  /** The data services that the change restarts, with the reasons. */
  readonly effects: readonly string[];
}

/** The location of an issue of the merged list in this body, which has no list `secrets`. */
const inBody = (issue: BodyIssue): BodyIssue =>
  issue.loc[1] === 'secrets' ? { ...issue, loc: ['body', 'set'] } : issue;

/** An error of the merged list, with locations in this body. */
function relocated(error: unknown): unknown {
  if (!(error instanceof ApiError) || typeof error.detail === 'string') return error;
  return new ApiError(error.statusCode, error.detail.map(inBody));
}

async function change(
  deps: ApiDeps,
  transaction: Transaction,
  request: SecretsRequest,
): Promise<ChangedSecrets> {
  const before = await lockForChange(transaction, request);
  const stored = openSecrets(deps.secretBox, before.secrets);
  const { secrets, issues } = mergeSecrets(stored, request.body);
  if (issues.length > 0) throw brokenRules(issues);
  const { record, effects } = await changeIn(deps, transaction, {
    before,
    secrets: stored,
    body: { secrets: [...secrets] },
    actor: request.actor,
    dryRun: false,
  });
  return { record, names: secrets.map(({ name }) => name), effects };
}

/**
 * Adds, replaces and removes single secrets.
 * @throws ApiError 400, 404, 409, 412; SecretBoxError when the stored secrets cannot be decrypted
 */
async function changeSecrets(deps: ApiDeps, request: SecretsRequest): Promise<ChangedSecrets> {
  const work = { tenantId: request.tenantId, dryRun: false };
  try {
    return await changing(deps, work, (transaction) => change(deps, transaction, request));
  } catch (error) {
    throw relocated(conflict(error));
  }
}

/** `/v2/deployments/{id}/secrets`. */
export function deploymentSecretsRoutes(app: FastifyInstance, deps: ApiDeps): void {
  app.withTypeProvider<ZodTypeProvider>().patch(
    '/v2/deployments/:deployment_id/secrets',
    {
      config: { access: { scopes: ['deployments:write'] }, answerHeaders: ['ETag'] },
      schema: {
        tags: ['deployments'],
        summary: 'Change secrets of a deployment',
        description:
          'Adds, replaces and removes single secrets. All other secrets stay as they are, so the caller need not be ' +
          'able to read secrets. A difference creates a new revision, as with a PATCH of the deployment. The response ' +
          'has the names of all secrets, without values.',
        params: deploymentParams,
        headers: ifMatchHeaders,
        querystring: noQuery,
        body: changeSecretsBodySchema,
        response: { 200: changedSecretsSchema, ...errorAnswers(400, 404, 409, 412, 413, 415) },
      },
    },
    async (request, reply) => {
      const { record, names, effects } = await changeSecrets(deps, {
        tenantId: tenantOf(request),
        deploymentId: request.params.deployment_id,
        actor: actorOf(request),
        body: request.body,
        ifMatch: request.headers['if-match'],
      });
      reply.header('etag', etag(record.generation));
      return {
        id: record.id,
        names: [...names],
        generation: record.generation,
        latest_revision_id: record.latestRevisionId,
        ...(effects.length === 0 ? {} : { effects: [...effects] }),
      };
    },
  );
}
