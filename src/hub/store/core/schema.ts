/** All tables. drizzle-kit generates the migrations from this file (`npx drizzle-kit generate`). */
export * from '../schema/deployments.ts';
export * from '../schema/history.ts';
export * from '../schema/hosts.ts';
export * from '../schema/listeners.ts';
export * from '../schema/logs.ts';
export * from '../schema/sessions.ts';
export * from '../schema/tags.ts';
export * from '../schema/tasks.ts';
export * from '../schema/tenancy.ts';
export * from '../schema/tokens.ts';
export * from '../schema/uploads.ts';
