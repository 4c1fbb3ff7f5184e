import { z } from 'zod';

/**
 * Limits of the objects of a tenant besides deployments. Although these objects are only rows in the database, their
 * number needs a limit.
 */

const most = (what: string) =>
  z.int().min(0).max(1_000_000).describe(`Maximum number of ${what} of a tenant.`);

/** The entry tenant_counts of the policy. */
export const tenantCountsSchema = z.strictObject({
  tag_keys: most('tag keys'),
  tag_values: most('values of all tag keys'),
  integrations: most('integrations'),
  listeners: most('listeners'),
  tracing_projects: most('tracing projects, including those of deleted deployments,'),
  running_tasks: most('tasks that have not ended'),
  revision_secrets: z
    .int()
    .min(1)
    .max(100_000)
    .describe(
      'Number of newest revisions of a deployment whose secrets are kept. Secrets of older revisions are deleted unless they are in use.',
    ),
});
export type TenantCounts = z.infer<typeof tenantCountsSchema>;

/** Kinds of objects that are counted before another object is created. */
export type CountedThing = Exclude<keyof TenantCounts, 'revision_secrets' | 'running_tasks'>;

/** The default limits for a tenant that is a whole company, and for one of many tenants. */
export const SELF_HOSTED_COUNTS: TenantCounts = {
  tag_keys: 1000,
  tag_values: 20_000,
  integrations: 1000,
  listeners: 1000,
  tracing_projects: 100_000,
  running_tasks: 1000,
  revision_secrets: 50,
};
export const CLOUD_COUNTS: TenantCounts = {
  tag_keys: 100,
  tag_values: 2000,
  integrations: 50,
  listeners: 20,
  tracing_projects: 1000,
  running_tasks: 20,
  revision_secrets: 50,
};
