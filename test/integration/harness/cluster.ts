/** Starts one cluster and one PostgreSQL for the whole run, whichever projects need it (vitest's globalSetup). */
import type { TestProject } from 'vitest/node';
import { resolveKubectl } from '../../cluster/binaries.ts';
import { FEW_COLLECTIONS, startCluster } from '../../cluster/cluster.ts';
import { type LocalPostgres, startPostgres } from '../../cluster/postgres.ts';
import { createTemplate } from './migrated-database.ts';

export interface TestEnvironment {
  /** Kubeconfig of the cluster's administrator. */
  kubeconfigPath: string;
  kubectlPath: string;
  /** State folder of the local cluster; empty for the one named by BERTH_TEST_KUBECONFIG. */
  stateDir: string;
  /** PostgreSQL, as a user who may create databases. */
  databaseUrl: string;
  /** A database of the current schema to copy; empty for the PostgreSQL that DATABASE_URL names. */
  template: string;
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
  if (!given) return startCluster({ ...FEW_COLLECTIONS, audit: true, fsync: false });
  return { kubeconfigPath: given, kubectlPath: await resolveKubectl(), stateDir: '', stop: async () => {} };
}

interface DatabaseInUse {
  server: LocalPostgres;
  template: string;
}

async function database(): Promise<DatabaseInUse> {
  const given = process.env['DATABASE_URL'];
  // No test stops this server. Its data need not survive a crash of the machine.
  const settings = { full_page_writes: 'off' };
  const server = await startPostgres({ ...(given ? { databaseUrl: given } : { fsync: false, settings }) });
  return { server, template: given ? '' : await createTemplate(server) };
}

const start = () => [cluster(), database()] as const;

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
    const [{ kubeconfigPath, kubectlPath, stateDir }, { server, template }] = await Promise.all(
      shared.starting,
    );
    const databaseUrl = server.url;
    project.provide('environment', { kubeconfigPath, kubectlPath, stateDir, databaseUrl, template });
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
  const [kubernetes, postgres] = await Promise.allSettled(shared.starting);
  await Promise.all([
    kubernetes.status === 'fulfilled' ? kubernetes.value.stop() : undefined,
    postgres.status === 'fulfilled' ? postgres.value.server.stop() : undefined,
  ]);
}
