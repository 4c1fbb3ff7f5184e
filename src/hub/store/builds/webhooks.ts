import type { GitProvider } from '../../../domain/builds/git-host.ts';
import type { Reader, Transaction } from '../core/database.ts';
import { type Actor, appendEvents } from '../core/events.ts';
import { type SecretBox, webhookContext } from '../secrets/secret-box.ts';

/** Webhooks of integrations: their secrets, and the deliveries that were accepted. */

/** The integration of a delivery, and the secrets that can authenticate it. */
export interface WebhookTarget {
  readonly tenantId: string;
  readonly integrationId: string;
  readonly provider: GitProvider;
  /** Secrets that are currently valid. Empty: the integration accepts no webhooks. */
  readonly secrets: readonly string[];
}

/** The content of the encrypted value. */
interface WebhookSecrets {
  readonly secret: string;
  /** The previous secret, while it is still accepted. */
  readonly former?: { readonly secret: string; readonly until: string } | undefined;
}

interface SecretRow {
  id: string;
  tenantId: string;
  name: string;
  provider: GitProvider;
  webhookKeyId: string | null;
  webhookSealed: Buffer | null;
}

const COLUMNS = `id, tenant_id AS "tenantId", name, provider, webhook_key_id AS "webhookKeyId", webhook_sealed AS "webhookSealed"`;

function opened(box: SecretBox, row: SecretRow): WebhookSecrets | null {
  const { webhookKeyId, webhookSealed } = row;
  if (webhookKeyId === null || webhookSealed === null) return null;
  return JSON.parse(box.open(webhookSealed, webhookKeyId, webhookContext(row)).toString()) as WebhookSecrets;
}

/**
 * The integration that deliveries are sent to; null: no integration has this id. Platform scope.
 * @throws SecretBoxError
 */
export async function findWebhookTarget(
  reader: Reader,
  box: SecretBox,
  integrationId: string,
  now: Date,
): Promise<WebhookTarget | null> {
  const [row] = await reader.query<SecretRow>(`SELECT ${COLUMNS} FROM integrations WHERE id = $1`, [
    integrationId,
  ]);
  if (row === undefined) return null;
  const known = opened(box, row);
  const former = known?.former;
  const isFormerValid = former !== undefined && new Date(former.until) > now;
  const secrets = known === null ? [] : [known.secret, ...(isFormerValid ? [former.secret] : [])];
  return { tenantId: row.tenantId, integrationId, provider: row.provider, secrets };
}

const LOCK = `SELECT ${COLUMNS} FROM integrations WHERE id = $2 AND tenant_id = $1 FOR NO KEY UPDATE`;
const SET = `UPDATE integrations SET webhook_key_id = $3, webhook_sealed = $4, updated_at = now()
WHERE id = $2 AND tenant_id = $1`;

async function write(
  transaction: Transaction,
  box: SecretBox,
  { id, tenantId, name }: SecretRow,
  change: { secrets: WebhookSecrets | null; message: string; actor: Actor },
): Promise<void> {
  const { secrets, message, actor } = change;
  const sealed =
    secrets === null
      ? null
      : box.seal(Buffer.from(JSON.stringify(secrets)), webhookContext({ id, tenantId }));
  await transaction.query(SET, [tenantId, id, sealed?.keyId ?? null, sealed?.sealed ?? null]);
  const details = { integration_id: id, changed: ['webhook_secret'] };
  const sentence = `Integration ${name} ${message}`;
  await appendEvents(transaction, [
    { tenantId, actor, reason: 'IntegrationChanged', message: sentence, details },
  ]);
}

/**
 * Sets the webhook secret of an integration. The previous secret is accepted until `formerUntil`.
 * @returns the time until which the previous secret is accepted; null: no previous secret exists, or it cannot be
 *   decrypted; undefined: the tenant has no integration with this id
 */
export async function setWebhookSecret(
  transaction: Transaction,
  box: SecretBox,
  tenantId: string,
  id: string,
  change: { readonly secret: string; readonly formerUntil: Date; readonly actor: Actor },
): Promise<Date | null | undefined> {
  const [row] = await transaction.query<SecretRow>(LOCK, [tenantId, id]);
  if (row === undefined) return undefined;
  const { secret, formerUntil, actor } = change;
  const isReadable = row.webhookKeyId !== null && box.keyIds.has(row.webhookKeyId);
  const before = isReadable ? opened(box, row) : null;
  const former = before === null ? undefined : { secret: before.secret, until: formerUntil.toISOString() };
  const message = 'has a new webhook secret.';
  await write(transaction, box, row, { secrets: { secret, former }, message, actor });
  return before === null ? null : formerUntil;
}

/**
 * Removes the secret, so that no further delivery is accepted.
 * @returns false when this tenant has no integration with this id
 */
export async function removeWebhookSecret(
  transaction: Transaction,
  box: SecretBox,
  tenantId: string,
  id: string,
  actor: Actor,
): Promise<boolean> {
  const [row] = await transaction.query<SecretRow>(LOCK, [tenantId, id]);
  if (row === undefined) return false;
  if (row.webhookSealed === null) return true;
  await write(transaction, box, row, { secrets: null, message: 'no longer accepts webhooks.', actor });
  return true;
}

const RECORD = `
INSERT INTO webhook_deliveries (tenant_id, integration_id, delivery_id)
SELECT $1::uuid, $2::uuid, key FROM unnest($3::text[]) AS key ORDER BY key
ON CONFLICT DO NOTHING RETURNING delivery_id`;

/**
 * Records a delivery in the transaction that applies it. Waits for another process that records the same delivery.
 * @param keys keys that identify the delivery
 * @returns false: the delivery was accepted before, under one of the keys
 */
export async function recordDelivery(
  transaction: Transaction,
  { tenantId, integrationId }: Pick<WebhookTarget, 'tenantId' | 'integrationId'>,
  keys: readonly string[],
): Promise<boolean> {
  const noted = await transaction.query(RECORD, [tenantId, integrationId, keys]);
  return noted.length === new Set(keys).size;
}
