import type { GitProvider } from '../../../domain/builds/git-host.ts';
import type { Reader, Transaction } from '../core/database.ts';
import { and, eq, sql } from '../core/drizzle.ts';
import { type Actor, appendEvents } from '../core/events.ts';
import { integrations } from '../core/schema.ts';
import { type SecretBox, webhookContext } from '../secrets/secret-box.ts';
import { recordDeliveryStatement } from '../sql/builds/record-delivery.ts';

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

const COLUMNS = {
  id: integrations.id,
  tenantId: integrations.tenantId,
  name: integrations.name,
  provider: integrations.provider,
  webhookKeyId: integrations.webhookKeyId,
  webhookSealed: integrations.webhookSealed,
};

type SealedWebhook = Pick<typeof integrations.$inferSelect, keyof typeof COLUMNS>;

const own = (tenantId: string, id: string) =>
  and(eq(integrations.id, id), eq(integrations.tenantId, tenantId));

/** Locks the integration. undefined: the tenant has no integration with this id. */
async function lock(
  transaction: Transaction,
  tenantId: string,
  id: string,
): Promise<SealedWebhook | undefined> {
  const [row] = await transaction.drizzle
    .select(COLUMNS)
    .from(integrations)
    .where(own(tenantId, id))
    .for('no key update');
  return row;
}

function opened(box: SecretBox, row: SealedWebhook): WebhookSecrets | null {
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
  const [row] = await reader.drizzle
    .select(COLUMNS)
    .from(integrations)
    .where(eq(integrations.id, integrationId));
  if (row === undefined) return null;
  const known = opened(box, row);
  const former = known?.former;
  const isFormerValid = former !== undefined && new Date(former.until) > now;
  const secrets = known === null ? [] : [known.secret, ...(isFormerValid ? [former.secret] : [])];
  return { tenantId: row.tenantId, integrationId, provider: row.provider, secrets };
}

async function write(
  transaction: Transaction,
  box: SecretBox,
  { id, tenantId, name }: SealedWebhook,
  change: { secrets: WebhookSecrets | null; message: string; actor: Actor },
): Promise<void> {
  const { secrets, message, actor } = change;
  const sealed =
    secrets === null
      ? null
      : box.seal(Buffer.from(JSON.stringify(secrets)), webhookContext({ id, tenantId }));
  await transaction.drizzle
    .update(integrations)
    .set({
      webhookKeyId: sealed?.keyId ?? null,
      webhookSealed: sealed?.sealed ?? null,
      updatedAt: sql`now()`,
    })
    .where(own(tenantId, id));
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
  const row = await lock(transaction, tenantId, id);
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
  const row = await lock(transaction, tenantId, id);
  if (row === undefined) return false;
  if (row.webhookSealed === null) return true;
  await write(transaction, box, row, { secrets: null, message: 'no longer accepts webhooks.', actor });
  return true;
}

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
  const recorded = await transaction.run(recordDeliveryStatement, { tenantId, integrationId, keys });
  return recorded.length === new Set(keys).size;
}
