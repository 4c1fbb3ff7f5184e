/** Kinds of owners of listeners. */
export const LISTENER_OWNERS = ['platform', 'tenant'] as const;
export type ListenerOwner = (typeof LISTENER_OWNERS)[number];

/** SQL of the kind of owner. Alias `l`: listeners. */
export const LISTENER_OWNER = `CASE WHEN l.tenant_id IS NULL THEN 'platform' ELSE 'tenant' END`;
