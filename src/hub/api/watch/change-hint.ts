import { UUID_PATTERN } from '../../../domain/core/id.ts';

/** Reads the payloads of CHANGE_CHANNEL, which triggers of the database send. Pure. */

/** A change that was committed. */
export interface ChangeHint {
  /** null: the change can concern every tenant. */
  readonly tenantId: string | null;
  /** null: something of the tenant that is not a deployment. `all`: statuses of many deployments. */
  readonly deploymentId: string | null | 'all';
  /** null: the deployment no longer exists, or the change is not one of a deployment. */
  readonly generation: number | null;
  /** Id of the transaction. */
  readonly transaction: string;
}

const ALL_TENANTS = '*';
const NONE = '-';
const ALL = 'all';

const isId = (text: string) => UUID_PATTERN.test(text);

/** The hint of a payload; null: the payload is not from this version of the triggers. */
export function parseHint(payload: string): ChangeHint | null {
  const [tenant = '', deployment = '', generation = '', transaction = '', ...rest] = payload.split(' ');
  if (tenant !== ALL_TENANTS && !isId(tenant)) return null;
  if (deployment !== NONE && deployment !== ALL && !isId(deployment)) return null;
  if (!/^(-|\d{1,10})$/.test(generation) || !/^\d{1,20}$/.test(transaction) || rest.length > 0) return null;
  return {
    tenantId: tenant === ALL_TENANTS ? null : tenant,
    deploymentId: deployment === NONE ? null : deployment,
    generation: generation === NONE ? null : Number(generation),
    transaction,
  };
}
