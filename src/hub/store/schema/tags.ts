import { index, pgTable, primaryKey, text, timestamp, uniqueIndex, uuid } from '../core/drizzle.ts';
import { deployments } from './deployments.ts';
import { tenants } from './tenancy.ts';

export const tagKeys = pgTable(
  'tag_keys',
  {
    id: uuid().primaryKey(),
    tenantId: uuid('tenant_id')
      .notNull()
      .references(() => tenants.id),
    key: text().notNull(),
    createdAt: timestamp('created_at', { withTimezone: true }).notNull().defaultNow(),
  },
  (table) => [uniqueIndex('tag_keys_key').on(table.tenantId, table.key)],
);

export const tagValues = pgTable(
  'tag_values',
  {
    id: uuid().primaryKey(),
    tenantId: uuid('tenant_id')
      .notNull()
      .references(() => tenants.id),
    tagKeyId: uuid('tag_key_id')
      .notNull()
      .references(() => tagKeys.id, { onDelete: 'cascade' }),
    value: text().notNull(),
    createdAt: timestamp('created_at', { withTimezone: true }).notNull().defaultNow(),
  },
  (table) => [uniqueIndex('tag_values_value').on(table.tagKeyId, table.value)],
);

/**
 * The tag values of deployments. The key is repeated in this table, so that the filter of the list reads only one
 * index.
 */
export const deploymentTagValues = pgTable(
  'deployment_tag_values',
  {
    tenantId: uuid('tenant_id')
      .notNull()
      .references(() => tenants.id),
    deploymentId: uuid('deployment_id')
      .notNull()
      .references(() => deployments.id, { onDelete: 'cascade' }),
    tagKeyId: uuid('tag_key_id').notNull(),
    tagValueId: uuid('tag_value_id')
      .notNull()
      .references(() => tagValues.id, { onDelete: 'cascade' }),
  },
  (table) => [
    primaryKey({ columns: [table.deploymentId, table.tagValueId] }),
    index('deployment_tag_values_by_value').on(table.tagValueId, table.deploymentId, table.tagKeyId),
  ],
);
