import { uuidv7 } from '../../../domain/core/id.ts';
import type { Scope } from '../../store/core/database.ts';
import { closeLogRequest, openLogRequest, type ReadQuery } from '../../store/listeners/log-requests.ts';
import type { ApiDeps } from '../core/deps.ts';
import type { ApiError } from '../core/errors.ts';

/** Opens reads of logs and objects: each is a stored request for the listener. */

/** Who reads what, through which listener. */
export interface ReadPlace {
  readonly deps: Pick<ApiDeps, 'database'>;
  readonly tenantId: string;
  readonly deploymentId: string;
  readonly listenerId: string;
  /** Maximum number of readers of one listener, per tenant and of all tenants. */
  readonly most: { readonly tenant: number; readonly all: number };
  /** X-Request-Id of the request. */
  readonly httpRequestId: string;
}

export interface OpenRead {
  /** Id of the stored request. */
  readonly id: string;
  readonly scope: Scope;
  /** Removes the stored request. Never rejects, because the request expires by itself if the database is not available. */
  close(): Promise<void>;
}

/** @param full the error if no place is available @throws ApiError */
export async function openRead(
  { deps: { database }, tenantId, deploymentId, listenerId, most, httpRequestId }: ReadPlace,
  read: ReadQuery,
  full: () => ApiError,
): Promise<OpenRead> {
  const id = uuidv7();
  const request = { id, tenantId, deploymentId, listenerId, read, httpRequestId };
  const isOpen = await database.platform.transaction((transaction) =>
    openLogRequest(transaction, request, most),
  );
  if (!isOpen) throw full();
  const scope = database.forTenant(tenantId);
  const close = () =>
    scope.transaction((transaction) => closeLogRequest(transaction, id)).catch(() => undefined);
  return { id, scope, close };
}
