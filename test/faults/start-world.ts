/** Starts a complete Berth behind three proxies. */
import pg from 'pg';
import { createKubeClient } from '../../src/cluster/kube/client/client.ts';
import type { KubectlAccess } from '../cluster/kubectl.ts';
import { freePorts } from '../cluster/ports.ts';
import type { LocalPostgres } from '../cluster/postgres.ts';
import { prepareBerth } from '../integration/harness/berth-setup.ts';
import { LastFault } from './oracles/last-fault.ts';
import { startHubProxy } from './proxies/hub-proxy.ts';
import { startKubernetesProxy } from './proxies/kubernetes-proxy.ts';
import { startPostgresProxy } from './proxies/postgres-proxy.ts';
import { World } from './running-world.ts';
import { tracked } from './tracked-rules.ts';
import type { OwnedWorld } from './world.ts';

/** What a world runs on. */
export interface RunParts {
  readonly access: KubectlAccess;
  readonly postgres: LocalPostgres;
  /** Whether only this world uses the PostgreSQL, and may stop it. Default: false. */
  readonly ownsPostgres?: boolean;
  /** Folder of the Berth to run. Default: this checkout. */
  readonly checkout?: string;
}

/** Starts database, namespaces, proxies and the three processes; resolves when all are ready. */
export async function startWorld(
  name: string,
  run: RunParts,
  settings: Readonly<Record<string, string>> = {},
): Promise<OwnedWorld> {
  const { access, postgres } = run;
  const [port] = await freePorts(1);
  const prepared = await prepareBerth(`faults-${name}`, { access, postgres });
  const { kubeconfigPath } = access;
  const admin = await createKubeClient({
    kubeconfigPath,
    userAgent: 'berth-faults/admin',
    requestTimeoutMs: 30_000,
  });
  const database = new pg.Pool({ connectionString: prepared.database.adminUrl, max: 3 });
  database.on('error', () => undefined);
  const faults = new LastFault();
  const world = new World(name, {
    prepared,
    access,
    admin,
    database,
    kubernetes: tracked(await startKubernetesProxy({ folder: prepared.stateDir }), faults),
    postgres: tracked(await startPostgresProxy(), faults),
    hub: tracked(await startHubProxy(), faults),
    server: run.ownsPostgres === true ? postgres : undefined,
    faults,
    apiUrl: `http://127.0.0.1:${port}`,
    settings: { ...prepared.settings, ...settings },
    checkout: run.checkout,
  });
  try {
    await world.startAll();
    return world;
  } catch (error) {
    await world.stop();
    throw error;
  }
}
