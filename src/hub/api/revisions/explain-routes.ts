import type { FastifyInstance } from 'fastify';
import type { ZodTypeProvider } from 'fastify-type-provider-zod';
import { z } from 'zod';
import { REASONS } from '../../../domain/conditions/conditions.ts';
import { type Explanation, explain, SERVES } from '../../../domain/conditions/explain.ts';
import type { ExplainFacts, WorkBlocked } from '../../../domain/conditions/explain-facts.ts';
import { failureSourceSchema } from '../../../domain/conditions/failure-source.ts';
import { uuidSchema } from '../../../domain/deployment/deployment-bodies.ts';
import { isTerminalStatus } from '../../../domain/revision/states.ts';
import type { Transaction } from '../../store/core/database.ts';
import { readExplainFacts, readLastEffects } from '../../store/deployments/explain-facts.ts';
import { loadWork } from '../../store/listeners/listener-work-rows.ts';
import { tenantOf } from '../core/auth.ts';
import type { ApiDeps } from '../core/deps.ts';
import { notFound } from '../core/errors.ts';
import { deploymentParams, noQuery } from '../core/query.ts';
import { timeSchema } from '../deployments/deployment-schema.ts';
import { readableSecrets } from '../deployments/deployment-secrets.ts';
import { itemRendering, toWorkItem, whyNotRendered } from '../listeners/listener-work-item.ts';
import { errorAnswers } from '../openapi/error-schema.ts';
import { revisionStatusSchema } from './revision-routes.ts';

const objectSchema = failureSourceSchema
  .extend({ id: z.string().optional().describe('Id of the revision, if the source is a revision.') })
  .meta({
    id: 'FailureSource',
    description: 'The source of the failure. Fields that are not known are absent.',
  });

const causeSchema = z
  .object({
    level: z
      .enum(['revision', 'deployment', 'listener', 'condition', 'object'])
      .describe('Kind of the source.'),
    condition: z.string().nullable().describe('Type of the condition. null: no condition.'),
    object: objectSchema.nullable(),
    reason: z.string().describe('Reason, one of a fixed list.'),
    message: z.string().describe('Message with the details.'),
    at: timeSchema.describe('Since when.'),
    current: z
      .boolean()
      .describe('False: the cluster is not observed now, and the entry shows the last known state.'),
  })
  .meta({ id: 'Cause', description: 'A cause in the chain of causes.' });

const EXAMPLE = {
  revision_id: '0196f0a0-5c1e-7b3a-9d51-0c4f6f1c2a77',
  deployment_id: '0196f0a0-5c1e-7b3a-9d51-0c4f6f1c2a70',
  number: 4,
  status: 'DEPLOY_FAILED',
  serves: 'no',
  summary:
    'Revision 4 failed to roll out. api: Pod shop-1a2b3c-api-5d9f-x7k2p: container migrate (init): exit 1: relation ' +
    '"orders" does not exist. Revision 3 is active.',
  causes: [
    {
      level: 'revision',
      condition: null,
      object: null,
      reason: 'CrashLoop',
      message: 'Revision 4 failed to roll out: api: a container keeps failing',
      at: '2026-01-15T09:30:00.000Z',
      current: true,
    },
    {
      level: 'object',
      condition: null,
      object: {
        component: 'api',
        kind: 'Pod',
        object: 'shop-1a2b3c-api-5d9f-x7k2p',
        container: 'migrate',
        container_kind: 'init',
        exit_code: 1,
        detail: 'relation "orders" does not exist',
      },
      reason: 'CrashLoop',
      message:
        'api: Pod shop-1a2b3c-api-5d9f-x7k2p: container migrate (init): exit 1: relation "orders" does not exist',
      at: '2026-01-15T09:30:00.000Z',
      current: true,
    },
  ],
  remedy: { kind: 'act', reason: 'CrashLoop', text: 'Fix the image, its secrets or its command.' },
  effects: [],
  knowledge: { current: true, at: '2026-01-15T09:31:00.000Z', age_seconds: 4 },
};

const explanationSchema = z
  .object({
    revision_id: uuidSchema.describe('The revision.'),
    deployment_id: uuidSchema.describe('Its deployment.'),
    number: z.int().describe('Number of the revision in the deployment.'),
    status: revisionStatusSchema,
    serves: z
      .enum(SERVES)
      .describe(
        'Whether the revision serves requests. unknown: the revision is the active one, but the cluster is not observed.',
      ),
    summary: z.string().describe('Summary.'),
    causes: z
      .array(causeSchema)
      .describe(
        'The first entry is the status of the revision. Each following entry is closer to the cause.',
      ),
    remedy: z
      .object({
        kind: z
          .enum(['act', 'wait'])
          .describe('act: an action is necessary. wait: the problem resolves without an action.'),
        reason: z.string().describe('The reason that this remedy is for.'),
        text: z.string().describe('The action.'),
      })
      .meta({ id: 'Remedy', description: 'The next step.' })
      .nullable()
      .describe('The next step. null: no next step is necessary.'),
    effects: z
      .array(z.string())
      .describe(
        'The effects that the response to the last change of the deployment contained: which data services the change restarted, and why. Empty: none.',
      ),
    knowledge: z
      .object({
        current: z.boolean().describe('Whether the cluster is observed now.'),
        at: timeSchema
          .nullable()
          .describe('Time of the last observation of the cluster. null: never observed.'),
        age_seconds: z.int().nullable().describe('Age of the last observation of the cluster, in seconds.'),
      })
      .meta({
        id: 'Knowledge',
        description: 'Age and reliability of the information about the cluster.',
      }),
  })
  .describe('Causes of the status of a revision, with the next step.')
  .meta({ id: 'Explanation', examples: [EXAMPLE] });

function present(
  deploymentId: string,
  { revision }: ExplainFacts,
  { serves, summary, causes, remedy, knowledge }: Explanation,
  effects: readonly string[],
): z.infer<typeof explanationSchema> {
  return {
    revision_id: revision.id,
    deployment_id: deploymentId,
    number: revision.number,
    status: revision.status,
    serves,
    summary,
    causes: causes.map(({ level, condition, object, reason, message, at, current }) => ({
      level,
      condition,
      object,
      reason,
      message,
      at: at.toISOString(),
      current,
    })),
    remedy,
    effects: [...effects],
    knowledge: {
      current: knowledge.current,
      at: knowledge.at?.toISOString() ?? null,
      age_seconds: knowledge.ageSeconds,
    },
  };
}

/** `/v2/deployments/{id}/revisions/{rid}/explain`. */
export function explainRoutes(app: FastifyInstance, deps: ApiDeps): void {
  app.withTypeProvider<ZodTypeProvider>().get(
    '/v2/deployments/:deployment_id/revisions/:revision_id/explain',
    {
      config: { access: { scopes: ['deployments:read'] } },
      schema: {
        tags: ['revisions'],
        summary: 'Explain a revision',
        description:
          'Explains the status of a revision, from the status down to the most precise known cause, with the next step. If the cluster is not observed, the response contains the age of the information.',
        params: deploymentParams.extend({ revision_id: uuidSchema.describe('Id of the revision.') }),
        querystring: noQuery,
        response: { 200: explanationSchema, ...errorAnswers(404) },
      },
    },
    async (request) => {
      const tenantId = tenantOf(request);
      const { deployment_id: deploymentId, revision_id: revisionId } = request.params;
      const read = await deps.database.forTenant(tenantId).transaction(
        async (transaction) => {
          const found = await readExplainFacts(transaction, tenantId, deploymentId, revisionId);
          if (found === null) return null;
          const { revision, active, deployment } = found;
          // A revision with a final status waits for no work.
          const isLive = !isTerminalStatus(revision.status) || revision.id === active?.id;
          const workBlocked = isLive ? await whyWorkBlocked(deps, transaction, deploymentId) : null;
          const effects = await readLastEffects(transaction, tenantId, deploymentId);
          return { facts: { ...found, deployment: { ...deployment, workBlocked } }, effects };
        },
        { byIndex: true },
      );
      if (read === null) throw notFound('revision');
      const facts = { ...read.facts, now: deps.clock?.() ?? new Date() };
      return present(deploymentId, facts, explain(facts), read.effects);
    },
  );
}

/**
 * Why no work item can be created from the stored state of a deployment, now or after the build of its image; null: it
 * can be created. The result is computed for each request, because the history records the problem once, but not its
 * end.
 */
async function whyWorkBlocked(
  deps: Parameters<typeof itemRendering>[0],
  transaction: Transaction,
  deploymentId: string,
): Promise<WorkBlocked | null> {
  const [due] = await loadWork(transaction, [deploymentId]);
  if (due === undefined) return null;
  try {
    toWorkItem(itemRendering(deps), due);
  } catch (error) {
    return whyNotRendered(error);
  }
  const build = due.kind === 'apply' ? due.build : null;
  if (build === null || readableSecrets(deps.secretBox, build) !== null) return null;
  return { reason: 'SecretsUnreadable', message: REASONS.SecretsUnreadable };
}
