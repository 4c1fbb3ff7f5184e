/** Starts one cluster and one PostgreSQL for the whole run, whichever projects need it (vitest's globalSetup). */
import type { TestProject } from 'vitest/node';
import { resolveKubectl } from '../../cluster/binaries.ts';
import { FEW_COLLECTIONS, startCluster } from '../../cluster/cluster.ts';
import { startPostgres } from '../../cluster/postgres.ts';

export interface TestEnvironment {
  /** Kubeconfig of the cluster's administrator. */
  kubeconfigPath: string;
  kubectlPath: string;
  /** State folder of the local cluster; empty for the one named by BERTH_TEST_KUBECONFIG. */
  stateDir: string;
  /** PostgreSQL, as a user who may create databases. */
  databaseUrl: string;
}

declare module 'vitest' {
  interface ProvidedContext {
    environment: TestEnvironment;
  }
}

interface ClusterInUse {
  kubeconfigPath: string;
  kubectlPath: string;
  stateDir: string;
  stop(): Promise<void>;
}

async function cluster(): Promise<ClusterInUse> {
  const given = process.env['BERTH_TEST_KUBECONFIG'];
  if (!given) return startCluster({ ...FEW_COLLECTIONS, audit: true });
  return { kubeconfigPath: given, kubectlPath: await resolveKubectl(), stateDir: '', stop: async () => {} };
}

const start = () => [cluster(), startPostgres({ databaseUrl: process.env['DATABASE_URL'] })] as const;

interface Shared {
  starting: ReturnType<typeof start>;
  users: number;
}

/** Vitest loads this file once for each project that names it, in one process: where what they share is kept. */
const places = globalThis as { berthTestEnvironment?: Shared };

export default async function setup(project: TestProject): Promise<() => Promise<void>> {
  places.berthTestEnvironment ??= { starting: start(), users: 0 };
  const shared = places.berthTestEnvironment;
  shared.users += 1;
  try {
    const [{ kubeconfigPath, kubectlPath, stateDir }, postgres] = await Promise.all(shared.starting);
    project.provide('environment', { kubeconfigPath, kubectlPath, stateDir, databaseUrl: postgres.url });
  } catch (error) {
    await leave(shared);
    throw error;
  }
  return () => leave(shared);
}

/** Whoever is the last one stops it. */
async function leave(shared: Shared): Promise<void> {
  shared.users -= 1;
  if (shared.users > 0) return;
  delete places.berthTestEnvironment;
  const settled = await Promise.allSettled(shared.starting);
  await Promise.all(
    settled.map((result) => (result.status === 'fulfilled' ? result.value.stop() : undefined)),
  );
}
