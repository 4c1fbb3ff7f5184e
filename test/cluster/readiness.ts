/** When a cluster that is starting has come far enough. */
import { readFileSync } from 'node:fs';
import { accessFromKubeconfig, apiRequest } from './api-probe.ts';
import { clusterHealth } from './health.ts';
import { type ClusterRecord, componentNames, paths, startOrder } from './layout.ts';
import { assertRunning } from './processes.ts';
import { waitFor } from './wait.ts';

const TIMEOUT_MS = 60_000;

/** The certificates that vouch for the API server, which it makes at its first start; PEM. */
export function waitForServerCertificate(stateDir: string): Promise<string> {
  return waitFor('the certificate of the API server', async () => readServerCertificate(stateDir), {
    timeoutMs: TIMEOUT_MS,
    giveUpIf: () => assertRunning(stateDir, [componentNames.etcd, componentNames.apiServer]),
  });
}

/** The file appears before it is complete: the leaf certificate, then the authority. */
function readServerCertificate(stateDir: string): string | undefined {
  const pem = readFileSync(paths.serverCertificate(stateDir), 'utf8');
  return pem.split('-----END CERTIFICATE-----').length > 2 ? pem : undefined;
}

/** /readyz says yes. */
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
  spec: { taints?: unknown[] };
  status: { conditions?: { type: string; status: string }[] };
}

/**
 * Nodes Ready and free of the taint they start with, and the ServiceAccount that every pod needs.
 * @param processes that the wait is given up without; default: those of a simulated cluster
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
 * Every component's own health check says yes. The rest does not imply it: kwok makes nodes Ready before it answers.
 * @throws Error naming the components that do not answer, and what they said
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
  return ready === true && (node.spec.taints ?? []).length === 0;
}
