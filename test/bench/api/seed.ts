/** Creates many deployments without the API, with the rows that the API would write. */
import { join } from 'node:path';
import { uuidv7 } from '../../../src/domain/core/id.ts';
import { DEPLOYMENT } from './bodies.ts';
import type { BenchHub } from './hub.ts';

const BATCH = 5000;

/** The functions of the measured checkout, which must decrypt the secrets. */
type SecretBoxes = Pick<
  typeof import('../../../src/hub/store/secrets/secret-box.ts'),
  'createSecretBox' | 'sealSecrets'
>;

/** Columns that can be written. Other versions may have other columns, and some columns are generated. */
const COLUMNS = `
SELECT column_name AS name FROM information_schema.columns
WHERE table_schema = current_schema() AND table_name = $1 AND is_generated = 'NEVER'`;

/** Copies a row once for each element of `rows`, which replaces some of its columns. */
async function copyRows(
  hub: Pick<BenchHub, 'sql'>,
  table: string,
  pattern: string,
  rows: readonly Record<string, unknown>[],
): Promise<void> {
  const columns = (await hub.sql<{ name: string }>(COLUMNS, [table]))
    .map(({ name }) => `"${name}"`)
    .join(', ');
  await hub.sql(
    `INSERT INTO ${table} (${columns})
     SELECT ${columns.replace(/"\w+"/g, 'made.$&')} FROM ${table} one, jsonb_array_elements($2::jsonb) AS row(changes),
       jsonb_populate_record(one, row.changes) AS made
     WHERE one.id = $1`,
    [pattern, JSON.stringify(rows)],
  );
}

interface Original {
  readonly secrets_id: string;
  readonly tenant_id: string;
  readonly source_config: { readonly resource_spec: { readonly annotations?: object } };
}

/** A configuration that differs for each deployment, so that a server gains nothing by caching equal ones. */
function configOf({ source_config: config }: Original, name: string): object {
  const annotations = { ...config.resource_spec.annotations, 'example.com/name': name };
  return { ...config, resource_spec: { ...config.resource_spec, annotations } };
}

/**
 * Creates `count` copies of a deployment, each with its own configuration and secrets. Project and revision are shared.
 * @returns the ids, oldest first
 */
export async function seedDeployments(
  hub: Pick<BenchHub, 'root' | 'encryptionKey' | 'sql'>,
  pattern: string,
  count: number,
  prefix = 'seeded',
): Promise<string[]> {
  const { createSecretBox, sealSecrets } = (await import(
    join(hub.root, 'src/hub/store/secrets/secret-box.ts')
  )) as SecretBoxes;
  const box = createSecretBox({ keys: [hub.encryptionKey], primary: hub.encryptionKey.id });
  const [original] = await hub.sql<Original>(
    'SELECT secrets_id, tenant_id, source_config FROM deployments WHERE id = $1',
    [pattern],
  );
  if (original === undefined)
    throw new Error('failed to seed deployments: the deployment to copy does not exist');
  const ids: string[] = [];
  while (ids.length < count) {
    const made = Array.from({ length: Math.min(BATCH, count - ids.length) }, (_, index) => {
      const id = uuidv7();
      const secrets = sealSecrets(box, original.tenant_id, id, DEPLOYMENT.secrets);
      return { id, secrets, name: `${prefix}-${ids.length + index}` };
    });
    const deployments = made.map(({ id, name, secrets }) => ({
      id,
      name,
      app_name: name,
      secrets_id: secrets?.id,
      source_config: configOf(original, name),
    }));
    await copyRows(hub, 'deployments', pattern, deployments);
    const sets = made.map(({ id, secrets }) => ({
      id: secrets?.id,
      deployment_id: id,
      sealed: `\\x${secrets?.sealed.toString('hex')}`,
    }));
    await copyRows(hub, 'secret_sets', original.secrets_id, sets);
    ids.push(...made.map(({ id }) => id));
  }
  await hub.sql('ANALYZE');
  return ids;
}
