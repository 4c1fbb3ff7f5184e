import { index, pgTable, primaryKey, text, timestamp, uniqueIndex, uuid } from '../core/drizzle.ts';
import { ofDeployment } from './deployments.ts';
import { ofTenant } from './tenancy.ts';

export const tagKeys = pgTable(
  'tag_keys',
  {
    id: uuid().primaryKey(),
    tenantId: ofTenant(),
    key: text().notNull(),
    createdAt: timestamp('created_at', { withTimezone: true }).notNull().defaultNow(),
  },
  (table) => [uniqueIndex('tag_keys_key').on(table.tenantId, table.key)],
);

export const tagValues = pgTable(
  'tag_values',
  {
    id: uuid().primaryKey(),
    tenantId: ofTenant(),
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
    tenantId: ofTenant(),
    deploymentId: ofDeployment(),
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
