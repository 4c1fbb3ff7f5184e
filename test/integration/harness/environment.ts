/** What the integration tests find ready: the one cluster and the one PostgreSQL of the run. */
import { inject } from 'vitest';
import { attachCluster, type LocalCluster } from '../../cluster/cluster.ts';
import { kubectl } from '../../cluster/kubectl.ts';
import { readAsKubectl } from '../../cluster/kubectl-reads.ts';
import { type LocalPostgres, startPostgres } from '../../cluster/postgres.ts';
import type { TestEnvironment } from './cluster.ts';
import { makeNamespace, removeNamespace } from './namespaces.ts';

export { uniqueName } from './namespaces.ts';

/** Paths and URLs of the run's cluster and PostgreSQL. */
export function environment(): TestEnvironment {
  return inject('environment');
}

/**
 * The run's cluster with its controls (kubeconfigFor, audit log). It is shared: a test that stops its API server
 * starts a cluster of its own instead.
 * @throws if the run uses the cluster of BERTH_TEST_KUBECONFIG, which we do not control
 */
export function cluster(): LocalCluster {
  const { stateDir } = environment();
  const attached = stateDir === '' ? undefined : attachCluster(stateDir);
  if (!attached) throw new Error('failed to control the cluster: it was not started by the tests');
  return attached;
}

/** The run's PostgreSQL, to create databases in. Not its owner: `stop` leaves it running. */
export function postgres(): Promise<LocalPostgres> {
  return startPostgres({ databaseUrl: environment().databaseUrl });
}

/** Runs kubectl as the administrator of the run's cluster. Most reads as JSON need no process. */
export async function kubectlAsAdmin(args: readonly string[], input?: string): Promise<string> {
  const access = environment();
  const read = input === undefined ? await readAsKubectl(access, args) : undefined;
  return read ?? kubectl(access, args, input);
}

/** Makes a namespace of one's own; returns its name. Remove it with `deleteNamespace`. */
export function createNamespace(prefix: string): Promise<string> {
  return makeNamespace(environment(), prefix);
}

/** Starts the deletion of a namespace with all that is in it. */
export function deleteNamespace(name: string): Promise<void> {
  return removeNamespace(environment(), name);
}
