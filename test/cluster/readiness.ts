/** Waits until the parts of a starting cluster are ready. */
import { readFileSync } from 'node:fs';
import { accessFromKubeconfig, apiRequest } from './api-probe.ts';
import { clusterHealth } from './health.ts';
import { type ClusterRecord, componentNames, paths, startOrder } from './layout.ts';
import { assertRunning } from './processes.ts';
import { waitFor } from './wait.ts';

const TIMEOUT_MS = 180_000;

/** The CA certificates of the API server, which the server creates at its first start. PEM. */
export function waitForServerCertificate(stateDir: string): Promise<string> {
  return waitFor('the certificate of the API server', async () => readServerCertificate(stateDir), {
    timeoutMs: TIMEOUT_MS,
    giveUpIf: () => assertRunning(stateDir, [componentNames.etcd, componentNames.apiServer]),
  });
}

/** The file appears before it is complete: first with the leaf certificate, then with the CA. */
function readServerCertificate(stateDir: string): string | undefined {
  const pem = readFileSync(paths.serverCertificate(stateDir), 'utf8');
  return pem.split('-----END CERTIFICATE-----').length > 2 ? pem : undefined;
}

/** Waits until /readyz returns 200. */
export async function waitForApiServer(stateDir: string): Promise<void> {
  const access = accessFromKubeconfig(paths.adminKubeconfig(stateDir));
  await waitFor(
    'the API server to be ready',
    async () => (await apiRequest(access, '/readyz')).status === 200,
    {
      timeoutMs: TIMEOUT_MS,
      giveUpIf: () => assertRunning(stateDir, [componentNames.etcd, componentNames.apiServer]),
    },
  );
}

interface NodeJson {
  spec: { taints?: { key: string }[] };
  status: { conditions?: { type: string; status: string }[] };
}

/**
 * Waits until the nodes are Ready and have no taints of the cluster itself, and the ServiceAccount that every pod needs exists.
 * @param processes the wait fails if one of these is not running; default: those of a simulated cluster
 */
export async function waitForControllers(
  stateDir: string,
  processes: readonly string[] = startOrder,
): Promise<void> {
  const access = accessFromKubeconfig(paths.adminKubeconfig(stateDir));
  const giveUpIf = () => assertRunning(stateDir, processes);
  const options = { timeoutMs: TIMEOUT_MS, giveUpIf };
  const serviceAccount = '/api/v1/namespaces/default/serviceaccounts/default';
  await waitFor(
    'the default ServiceAccount',
    async () => (await apiRequest(access, serviceAccount)).status === 200,
    options,
  );
  const nodesReady = async (): Promise<boolean> => {
    const { items } = JSON.parse((await apiRequest(access, '/api/v1/nodes')).body) as { items: NodeJson[] };
    return items.length > 0 && items.every(isSchedulable);
  };
  await waitFor('the nodes to be Ready', nodesReady, options);
}

/**
 * Waits until the health check of every component succeeds. The other checks do not include this: kwok makes nodes Ready
 * before it answers health checks.
 * @throws Error with the unhealthy components and their messages
 */
export async function waitForHealth(stateDir: string, record: ClusterRecord): Promise<void> {
  const allHealthy = async (): Promise<boolean> => {
    const unhealthy = (await clusterHealth(stateDir, record)).filter(({ healthy }) => !healthy);
    if (unhealthy.length === 0) return true;
    throw new Error(unhealthy.map(({ name, message }) => `${name}: ${message}`).join('; '));
  };
  const giveUpIf = () => assertRunning(stateDir, startOrder);
  await waitFor('every component to be healthy', allHealthy, { timeoutMs: TIMEOUT_MS, giveUpIf });
}

function isSchedulable(node: NodeJson): boolean {
  const ready = node.status.conditions?.some(({ type, status }) => type === 'Ready' && status === 'True');
  const { taints = [] } = node.spec;
  return ready === true && !taints.some(({ key }) => key.startsWith('node.kubernetes.io/'));
}
