import { randomUUID } from 'node:crypto';
import { UsageError } from '../../command/usage-error.ts';
import type { Deployment } from '../api.gen.ts';
import { readBody } from '../body-file.ts';
import { ApiProblem, isMissing } from '../call-problem.ts';
import type { InputOf } from '../client.ts';
import type { Context } from '../context.ts';
import { lookUpDeployment, UUID } from '../lookup.ts';
import { cell, quoted } from '../table.ts';

/** The deployment that gets an upload: an existing or a new one. */

const SOURCE = 'internal_image';

export type NewDeployment = InputOf<'post', '/v2/deployments'>;

/**
 * The body of a new deployment.
 * @param file has fields of it. undefined: the defaults
 * @throws UsageError when the file cannot be read, or contradicts the command
 */
export async function newDeployment(name: string, file: string | undefined): Promise<NewDeployment> {
  const fields = file === undefined ? {} : await readBody(file);
  const fixed = { name, source: SOURCE };
  for (const [field, value] of Object.entries(fixed))
    if (fields[field] !== undefined && fields[field] !== value)
      throw new UsageError(`${file}: ${field} must be ${value}, or absent`);
  const optional = { source_config: {}, source_revision_config: {}, secrets: [] };
  return { ...optional, ...fields, ...fixed } as NewDeployment;
}

/**
 * The deployment that exists. null: a new deployment can have the name.
 * @throws ApiProblem when it does not exist and the word is an id, or when it has another source
 */
export async function existing({ client }: Context, word: string): Promise<Deployment | null> {
  const found = await lookUpDeployment(client, word, true).catch((error) => {
    if (isMissing(error) && !UUID.test(word)) return null;
    throw error;
  });
  if (found === null || (found.status === 'AWAITING_DELETE' && found.id !== word)) return null;
  if (found.source === SOURCE) return found;
  const option = found.source === 'git_host' ? '--ref REF' : '--image IMAGE';
  throw new ApiProblem(
    409,
    `a folder cannot be deployed to "${found.name}", because its source is ${found.source}`,
    `berth deploy ${quoted(word)} ${option}, or deploy the folder with another name`,
  );
}

export async function create(context: Context, body: NewDeployment): Promise<Deployment> {
  const made = await context.client.POST('/v2/deployments', {
    params: { query: { mask_secrets: true }, header: { 'Idempotency-Key': randomUUID() } },
    body,
  });
  context.note(`created the deployment ${cell(made.name)}`);
  return made as Deployment;
}
