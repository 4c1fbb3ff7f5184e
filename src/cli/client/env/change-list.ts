import type { Deployment, UpdateDeploymentInput } from '../api.gen.ts';
import { ApiProblem } from '../call-problem.ts';
import { type Context, noteEffects } from '../context.ts';
import type { End } from '../exit-codes.ts';
import { lookUpDeployment } from '../lookup.ts';
import { settle } from '../wait.ts';

/** Changes of a list that the API replaces as a whole, such as env: read, merge, and send for the generation that was read. */

const DEPLOYMENT = '/v2/deployments/{deployment_id}';
/** Attempts of a change that other clients overtake. Each attempt merges into the list that was stored last. */
const MAX_ATTEMPTS = 5;

export interface ListChange {
  /** Called once, with the stored deployment. */
  readonly begin?: ((before: Deployment) => void) | undefined;
  /** The PATCH for the stored deployment. */
  readonly patch: (before: Deployment) => UpdateDeploymentInput;
  /** The message when the PATCH changed nothing. */
  readonly unchanged: string;
  readonly show: (made: Deployment) => Promise<void>;
}

/** @throws ApiProblem 412 when another client was faster */
async function send(context: Context, before: Deployment, body: UpdateDeploymentInput): Promise<Deployment> {
  const made = await context.client.PATCH(DEPLOYMENT, {
    params: {
      path: { deployment_id: before.id },
      query: { mask_secrets: true },
      header: { 'If-Match': `"${before.generation}"` },
    },
    body,
  });
  noteEffects(context, made);
  return made as Deployment;
}

const isOvertaken = (error: unknown) => error instanceof ApiProblem && error.status === 412;

/** Changes the list, prints it, and waits. @param seconds how long to wait; null: not at all */
export async function changeList(
  context: Context,
  name: string,
  seconds: number | null,
  { begin, patch, unchanged, show }: ListChange,
): Promise<End> {
  for (let attempt = 1; ; attempt += 1) {
    const before = await lookUpDeployment(context.client, name, true);
    if (attempt === 1) begin?.(before);
    try {
      const made = await send(context, before, patch(before));
      if (made.generation === before.generation) context.note(unchanged);
      await show(made);
      return seconds === null ? 'reached' : settle(context, made, seconds, made.latest_revision_id);
    } catch (error) {
      if (!isOvertaken(error) || attempt >= MAX_ATTEMPTS) throw error;
    }
  }
}
