import { bigint, boolean, index, pgTable, primaryKey, text, timestamp } from '../core/drizzle.ts';
import { ofDeployment } from './deployments.ts';
import { ofTenant } from './tenancy.ts';

/**
 * Uploaded folders in the platform's registry (hub/store/builds/uploads.ts). The row is written before the upload is stored
 * and deleted after it is removed, so that whatever an interrupted upload leaves is found.
 */
export const uploads = pgTable(
  'uploads',
  {
    deploymentId: ofDeployment(),
    /** SHA-256 of the archive: `sha256:HEX`. */
    digest: text().notNull(),
    tenantId: ofTenant(),
    /** Size of the archive; until it is stored, the expected size. */
    bytes: bigint({ mode: 'number' }).notNull(),
    /** Whether the registry has the archive. */
    stored: boolean().notNull().default(false),
    /** Whether the archive is being removed from the registry. It then cannot be used. */
    removing: boolean().notNull().default(false),
    /** When the archive was sent last. */
    sentAt: timestamp('sent_at', { withTimezone: true }).notNull().defaultNow(),
  },
  (table) => [
    primaryKey({ columns: [table.deploymentId, table.digest] }),
    index('uploads_by_tenant').on(table.tenantId),
  ],
);
