/** Starts one cluster and one PostgreSQL for the whole run of the integration tests (vitest's globalSetup). */
import type { TestProject } from 'vitest/node';
import { resolveKubectl } from '../../cluster/binaries.ts';
import { startCluster } from '../../cluster/cluster.ts';
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
  if (!given) return startCluster({ audit: true });
  return { kubeconfigPath: given, kubectlPath: await resolveKubectl(), stateDir: '', stop: async () => {} };
}

export default async function setup(project: TestProject): Promise<() => Promise<void>> {
  const starting = [cluster(), startPostgres({ databaseUrl: process.env['DATABASE_URL'] })] as const;
  try {
    const [{ kubeconfigPath, kubectlPath, stateDir }, postgres] = await Promise.all(starting);
    project.provide('environment', { kubeconfigPath, kubectlPath, stateDir, databaseUrl: postgres.url });
  } catch (error) {
    await stopAll(starting);
    throw error;
  }
  return () => stopAll(starting);
}

async function stopAll(starting: readonly Promise<{ stop(): Promise<void> }>[]): Promise<void> {
  const settled = await Promise.allSettled(starting);
  await Promise.all(
    settled.map((result) => (result.status === 'fulfilled' ? result.value.stop() : undefined)),
  );
}
