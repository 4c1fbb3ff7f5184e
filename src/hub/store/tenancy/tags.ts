import type { EventReason } from '../../../domain/conditions/event-reasons.ts';
import { uuidv7 } from '../../../domain/core/id.ts';
import type { Reader, Transaction } from '../core/database.ts';
import { and, asc, desc, eq, inArray, sql } from '../core/drizzle.ts';
import { ReferenceViolation } from '../core/errors.ts';
import { type Actor, appendEvents } from '../core/events.ts';
import type { Page } from '../core/records.ts';
import { deployments, deploymentTagValues, tagKeys, tagValues } from '../core/schema.ts';
import { rejectSameName } from '../deployments/same-name.ts';

export type TagKey = typeof tagKeys.$inferSelect;
export type TagValue = typeof tagValues.$inferSelect;

/** The default actor: the program itself. */
const SYSTEM: Actor = { kind: 'system' };

/** Writes an event to the tenant's history. */
function recordEvent(
  transaction: Transaction,
  tenantId: string,
  actor: Actor,
  [reason, message]: readonly [EventReason, string],
  details: Record<string, unknown>,
): Promise<void> {
  return appendEvents(transaction, [{ tenantId, actor, reason, message, details }]);
}

/** @throws UniqueViolation `tag_keys_key` */
export async function createTagKey(
  transaction: Transaction,
  tenantId: string,
  key: string,
  actor: Actor = SYSTEM,
): Promise<TagKey> {
  await rejectSameName(transaction, 'tag_keys_key', { owner: tenantId, name: key });
  const [created] = await transaction.drizzle
    .insert(tagKeys)
    .values({ id: uuidv7(), tenantId, key })
    .returning();
  if (created === undefined) throw new Error('failed to create a tag key: the statement returned no row');
  const message = `Tag key ${key} was created.`;
  await recordEvent(transaction, tenantId, actor, ['TagCreated', message], { tag_key_id: created.id });
  return created;
}

const ownKey = (tenantId: string, id: string) => and(eq(tagKeys.id, id), eq(tagKeys.tenantId, tenantId));

export async function findTagKey(reader: Reader, tenantId: string, id: string): Promise<TagKey | null> {
  const [key] = await reader.drizzle.select().from(tagKeys).where(ownKey(tenantId, id));
  return key ?? null;
}

/** Newest first. */
export function listTagKeys(reader: Reader, tenantId: string, { limit, offset }: Page): Promise<TagKey[]> {
  return reader.drizzle
    .select()
    .from(tagKeys)
    .where(eq(tagKeys.tenantId, tenantId))
    .orderBy(desc(tagKeys.id))
    .limit(limit)
    .offset(offset);
}

/**
 * Renames a key; null when the tenant has no key with this id. Deployments refer to the key by its id.
 * @throws UniqueViolation `tag_keys_key`
 */
export async function renameTagKey(
  transaction: Transaction,
  tenantId: string,
  id: string,
  key: string,
  actor: Actor = SYSTEM,
): Promise<TagKey | null> {
  const before = await findTagKey(transaction, tenantId, id);
  if (before === null || before.key === key) return before;
  await rejectSameName(transaction, 'tag_keys_key', { owner: tenantId, name: key, ownId: id });
  const [renamed] = await transaction.drizzle
    .update(tagKeys)
    .set({ key })
    .where(ownKey(tenantId, id))
    .returning();
  if (renamed === undefined) return null;
  const message = `Tag key ${before.key} was renamed to ${key}.`;
  await recordEvent(transaction, tenantId, actor, ['TagChanged', message], { tag_key_id: id });
  return renamed;
}

/** Deletes a key with its values, also from deployments; false when the tenant has no key with this id. */
export async function deleteTagKey(
  transaction: Transaction,
  tenantId: string,
  id: string,
  actor: Actor = SYSTEM,
): Promise<boolean> {
  const [deleted] = await transaction.drizzle.delete(tagKeys).where(ownKey(tenantId, id)).returning();
  if (deleted === undefined) return false;
  const message = `Tag key ${deleted.key} was deleted with its values.`;
  await recordEvent(transaction, tenantId, actor, ['TagDeleted', message], { tag_key_id: id });
  return true;
}

/** Creates a value of a key; null when the tenant does not have the key. @throws UniqueViolation `tag_values_value` */
export async function createTagValue(
  transaction: Transaction,
  tenantId: string,
  tagKeyId: string,
  value: string,
  actor: Actor = SYSTEM,
): Promise<TagValue | null> {
  // The key is locked, so that it is not deleted between the read and the insert.
  const [key] = await transaction.drizzle
    .select()
    .from(tagKeys)
    .where(ownKey(tenantId, tagKeyId))
    .for('key share');
  if (key === undefined) return null;
  await rejectSameName(transaction, 'tag_values_value', { owner: tagKeyId, name: value });
  const [created] = await transaction.drizzle
    .insert(tagValues)
    .values({ id: uuidv7(), tenantId, tagKeyId, value })
    .returning();
  if (created === undefined) throw new Error('failed to create a tag value: the statement returned no row');
  const message = `Tag value ${key.key}=${value} was created.`;
  const ids = { tag_key_id: tagKeyId, tag_value_id: created.id };
  await recordEvent(transaction, tenantId, actor, ['TagCreated', message], ids);
  return created;
}

const ownValue = (tenantId: string, tagKeyId: string, id: string) =>
  and(eq(tagValues.id, id), eq(tagValues.tagKeyId, tagKeyId), eq(tagValues.tenantId, tenantId));

/**
 * Renames a value; null when the tenant has no value with this id for this key. Deployments refer to the value by its
 * id.
 * @throws UniqueViolation `tag_values_value`
 */
export async function renameTagValue(
  transaction: Transaction,
  tenantId: string,
  ids: { readonly tagKeyId: string; readonly id: string },
  value: string,
  actor: Actor = SYSTEM,
): Promise<TagValue | null> {
  const which = ownValue(tenantId, ids.tagKeyId, ids.id);
  const [before] = await transaction.drizzle.select().from(tagValues).where(which);
  if (before === undefined || before.value === value) return before ?? null;
  const unique = { owner: ids.tagKeyId, name: value, ownId: ids.id };
  await rejectSameName(transaction, 'tag_values_value', unique);
  const [renamed] = await transaction.drizzle.update(tagValues).set({ value }).where(which).returning();
  if (renamed === undefined) return null;
  const message = `Tag value ${before.value} was renamed to ${value}.`;
  const details = { tag_key_id: ids.tagKeyId, tag_value_id: ids.id };
  await recordEvent(transaction, tenantId, actor, ['TagChanged', message], details);
  return renamed;
}

/** Newest first. */
export function listTagValues(
  reader: Reader,
  tenantId: string,
  tagKeyId: string,
  { limit, offset }: Page,
): Promise<TagValue[]> {
  return reader.drizzle
    .select()
    .from(tagValues)
    .where(and(eq(tagValues.tagKeyId, tagKeyId), eq(tagValues.tenantId, tenantId)))
    .orderBy(desc(tagValues.id))
    .limit(limit)
    .offset(offset);
}

/** Deletes a value, also from deployments; false when the tenant has no value with this id for this key. */
export async function deleteTagValue(
  transaction: Transaction,
  tenantId: string,
  tagKeyId: string,
  id: string,
  actor: Actor = SYSTEM,
): Promise<boolean> {
  const [deleted] = await transaction.drizzle
    .delete(tagValues)
    .where(ownValue(tenantId, tagKeyId, id))
    .returning();
  if (deleted === undefined) return false;
  const message = `Tag value ${deleted.value} was deleted.`;
  const details = { tag_key_id: tagKeyId, tag_value_id: id };
  await recordEvent(transaction, tenantId, actor, ['TagDeleted', message], details);
  return true;
}

/** Tag values of a deployment, oldest first. */
export async function listDeploymentTagValues(
  reader: Reader,
  tenantId: string,
  deploymentId: string,
): Promise<TagValue[]> {
  const rows = await reader.drizzle
    .select({ value: tagValues })
    .from(deploymentTagValues)
    .innerJoin(tagValues, eq(tagValues.id, deploymentTagValues.tagValueId))
    .where(
      and(eq(deploymentTagValues.deploymentId, deploymentId), eq(deploymentTagValues.tenantId, tenantId)),
    )
    .orderBy(asc(tagValues.id));
  return rows.map(({ value }) => value);
}

/** The author of the assignment, and its precondition. */
export interface TagAssignment {
  readonly actor: Actor;
  /** Called with the deployment's generation, while its row is locked. If the function throws, nothing changes. */
  readonly check?: (generation: number) => void;
}

/**
 * Sets exactly the given tag values on a deployment, with an event if they differ from the current values.
 * @returns all values of the deployment, oldest first. `deleting`: the deployment is being deleted, and nothing
 *   changes. null: the tenant does not have the deployment
 * @throws ReferenceViolation when a value does not belong to this tenant
 */
export async function setDeploymentTagValues(
  transaction: Transaction,
  tenantId: string,
  deploymentId: string,
  tagValueIds: readonly string[],
  { actor, check }: TagAssignment,
): Promise<TagValue[] | 'deleting' | null> {
  const wanted = [...new Set(tagValueIds)];
  const [deployment] = await transaction.drizzle
    .select({ deleteRequestedAt: deployments.deleteRequestedAt, generation: deployments.generation })
    .from(deployments)
    .where(and(eq(deployments.id, deploymentId), eq(deployments.tenantId, tenantId)))
    .for('update');
  if (deployment === undefined) return null;
  if (deployment.deleteRequestedAt !== null) return 'deleting';
  check?.(deployment.generation);
  const before = await listDeploymentTagValues(transaction, tenantId, deploymentId);
  await transaction.drizzle
    .delete(deploymentTagValues)
    .where(
      and(eq(deploymentTagValues.deploymentId, deploymentId), eq(deploymentTagValues.tenantId, tenantId)),
    );
  const { rowCount } = await transaction.drizzle.insert(deploymentTagValues).select(
    transaction.drizzle
      .select({
        tenantId: tagValues.tenantId,
        deploymentId: sql<string>`${deploymentId}::uuid`.as('deployment_id'),
        tagKeyId: tagValues.tagKeyId,
        tagValueId: sql<string>`${tagValues.id}`.as('tag_value_id'),
      })
      .from(tagValues)
      .where(and(eq(tagValues.tenantId, tenantId), inArray(tagValues.id, wanted))),
  );
  if (rowCount !== wanted.length) throw new ReferenceViolation('deployment_tag_values_tag_value_id');
  const after = await listDeploymentTagValues(transaction, tenantId, deploymentId);
  const tags = after.map(({ id }) => id);
  if (tags.join() !== before.map(({ id }) => id).join()) {
    await appendEvents(transaction, [
      {
        tenantId,
        deploymentId,
        actor,
        reason: 'Patched',
        message: 'The tag values were changed.',
        details: { changed: ['tag_value_ids'], tag_value_ids: tags },
      },
    ]);
  }
  return after;
}
