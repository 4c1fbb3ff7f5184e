import type { GitProvider } from '../../../domain/builds/git-host.ts';
import type { EventReason } from '../../../domain/conditions/event-reasons.ts';
import { uuidv7 } from '../../../domain/core/id.ts';
import type { Reader, Transaction } from '../core/database.ts';
import { and, desc, eq, getTableColumns, sql } from '../core/drizzle.ts';
import { type Actor, appendEvents } from '../core/events.ts';
import type { Page } from '../core/records.ts';
import { deployments, integrations } from '../core/schema.ts';
import { rejectSameName } from '../deployments/same-name.ts';
import { redeliverTokens } from '../secrets/build-credentials.ts';
import { integrationContext, type SecretBox } from '../secrets/secret-box.ts';

/** Credentials for git hosts. Tokens are encrypted. The key rotation finds the tokens through sealed-tables.ts. */

const {
  sealed: _sealed,
  keyId: _keyId,
  webhookSealed: _webhookSealed,
  webhookKeyId,
  ...PLAIN
} = getTableColumns(integrations);
const COLUMNS = { ...PLAIN, takesWebhooks: sql<boolean>`${webhookKeyId} IS NOT NULL` };

type Row = typeof integrations.$inferSelect;

/** An integration without its token and webhook secret. */
export interface Integration extends Omit<Row, 'sealed' | 'keyId' | 'webhookSealed' | 'webhookKeyId'> {
  /** Whether the integration has a webhook secret. */
  readonly takesWebhooks: boolean;
}

export interface NewIntegration {
  readonly name: string;
  readonly provider: GitProvider;
  /** https URL of the git host, without a trailing slash. */
  readonly hostUrl: string;
  readonly token: string;
}

/** The changes. Absent fields do not change. */
export interface IntegrationChange {
  readonly name?: string | undefined;
  readonly token?: string | undefined;
}

const own = (tenantId: string, id: string) =>
  and(eq(integrations.id, id), eq(integrations.tenantId, tenantId));

/** Writes an event to the tenant's history. The event never contains the token. */
function recordEvent(
  transaction: Transaction,
  tenantId: string,
  actor: Actor,
  [reason, message]: readonly [EventReason, string],
  details: Record<string, unknown>,
): Promise<void> {
  return appendEvents(transaction, [{ tenantId, actor, reason, message, details }]);
}

const seal = (box: SecretBox, id: string, tenantId: string, token: string) =>
  box.seal(Buffer.from(token), integrationContext({ id, tenantId }));

/** @throws UniqueViolation `integrations_name` */
export async function createIntegration(
  transaction: Transaction,
  box: SecretBox,
  tenantId: string,
  { name, provider, hostUrl, token }: NewIntegration,
  actor: Actor,
): Promise<Integration> {
  const id = uuidv7();
  await rejectSameName(transaction, 'integrations_name', { owner: tenantId, name });
  const [created] = await transaction.drizzle
    .insert(integrations)
    .values({ id, tenantId, name, provider, hostUrl, ...seal(box, id, tenantId, token) })
    .returning(COLUMNS);
  if (created === undefined)
    throw new Error('failed to create an integration: the statement returned no row');
  const message = `Integration ${name} was created.`;
  await recordEvent(transaction, tenantId, actor, ['IntegrationCreated', message], {
    integration_id: id,
    provider,
    host_url: hostUrl,
  });
  return created;
}

export async function findIntegration(
  reader: Reader,
  tenantId: string,
  id: string,
): Promise<Integration | null> {
  const [found] = await reader.drizzle.select(COLUMNS).from(integrations).where(own(tenantId, id));
  return found ?? null;
}

/** Newest first. */
export function listIntegrations(
  reader: Reader,
  tenantId: string,
  { limit, offset }: Page,
): Promise<Integration[]> {
  return reader.drizzle
    .select(COLUMNS)
    .from(integrations)
    .where(eq(integrations.tenantId, tenantId))
    .orderBy(desc(integrations.id))
    .limit(limit)
    .offset(offset);
}

/** An integration whose token is still encrypted. */
export interface SealedIntegration extends Pick<Integration, 'id' | 'tenantId' | 'provider' | 'hostUrl'> {
  readonly keyId: string;
  readonly sealed: Buffer;
}

/** The decrypted token. @throws SecretBoxError when the token cannot be decrypted */
export function openToken(box: SecretBox, integration: SealedIntegration): string {
  return box.open(integration.sealed, integration.keyId, integrationContext(integration)).toString();
}

/**
 * An integration with its token; null: the tenant has no integration with this id.
 * @throws SecretBoxError when the token cannot be decrypted
 */
export async function openIntegration(
  reader: Reader,
  box: SecretBox,
  tenantId: string,
  id: string,
): Promise<(Integration & { readonly token: string }) | null> {
  const [found] = await reader.drizzle
    .select({ ...COLUMNS, sealed: integrations.sealed, keyId: integrations.keyId })
    .from(integrations)
    .where(own(tenantId, id));
  if (found === undefined) return null;
  const { sealed, keyId, ...integration } = found;
  return { ...integration, token: box.open(sealed, keyId, integrationContext(integration)).toString() };
}

/**
 * Locks an integration against deletion until the transaction ends, for a deployment that is about to refer to it.
 * null: the tenant has no integration with this id.
 */
export async function lockIntegration(
  transaction: Transaction,
  tenantId: string,
  id: string,
): Promise<Integration | null> {
  const [held] = await transaction.drizzle
    .select(COLUMNS)
    .from(integrations)
    .where(own(tenantId, id))
    .for('key share');
  return held ?? null;
}

/**
 * Changes an integration. Unfinished builds get a new token.
 * @throws UniqueViolation `integrations_name`. null: the tenant has no integration with this id
 */
export async function updateIntegration(
  transaction: Transaction,
  box: SecretBox,
  tenantId: string,
  id: string,
  { change, actor }: { change: IntegrationChange; actor: Actor },
): Promise<Integration | null> {
  const [before] = await transaction.drizzle
    .select(COLUMNS)
    .from(integrations)
    .where(own(tenantId, id))
    // A new token needs the stronger lock, which waits for deployments that are about to refer to the integration.
    // Builds of these deployments use the new token or are found below.
    .for(change.token === undefined ? 'no key update' : 'update');
  if (before === undefined) return null;
  const renamed = change.name !== undefined && change.name !== before.name;
  const changed = [...(renamed ? ['name'] : []), ...(change.token === undefined ? [] : ['token'])];
  if (changed.length === 0) return before;
  if (change.name !== undefined && renamed)
    await rejectSameName(transaction, 'integrations_name', { owner: tenantId, name: change.name, ownId: id });
  const [after] = await transaction.drizzle
    .update(integrations)
    .set({
      ...(renamed ? { name: change.name } : {}),
      ...(change.token === undefined ? {} : seal(box, id, tenantId, change.token)),
      updatedAt: sql`now()`,
    })
    .where(own(tenantId, id))
    .returning(COLUMNS);
  if (after === undefined) throw new Error('failed to change an integration: the statement returned no row');
  if (change.token !== undefined) await redeliverTokens(transaction, tenantId, id);
  const message = `Integration ${after.name} was changed: ${changed.join(', ')}.`;
  await recordEvent(transaction, tenantId, actor, ['IntegrationChanged', message], {
    integration_id: id,
    changed,
  });
  return after;
}

/**
 * Deletes an integration, unless a deployment refers to it that is not being deleted or can still be restored.
 * @returns the number of deployments that refer to it; 0: the integration was deleted. null: the tenant has no
 * integration with this id
 */
export async function deleteIntegration(
  transaction: Transaction,
  tenantId: string,
  id: string,
  actor: Actor,
): Promise<number | null> {
  // The lock waits for transactions that have locked the integration. The count is a separate statement, so that it
  // includes the deployments of these transactions.
  const [found] = await transaction.drizzle
    .select(COLUMNS)
    .from(integrations)
    .where(own(tenantId, id))
    .for('update');
  if (found === undefined) return null;
  const [users] = await transaction.drizzle
    .select({ count: sql<number>`count(*)::int` })
    .from(deployments)
    .where(
      and(
        eq(deployments.tenantId, tenantId),
        sql`${deployments.sourceConfig} ->> 'integration_id' = ${id}`,
        sql`(${deployments.deleteRequestedAt} IS NULL OR ${deployments.purgeAfter} > clock_timestamp())`,
      ),
    );
  if (users === undefined || users.count > 0) return users?.count ?? 0;
  await transaction.drizzle.delete(integrations).where(own(tenantId, id));
  const message = `Integration ${found.name} was deleted.`;
  await recordEvent(transaction, tenantId, actor, ['IntegrationDeleted', message], { integration_id: id });
  return 0;
}
