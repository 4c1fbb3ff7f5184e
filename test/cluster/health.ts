import { request as httpRequest } from 'node:http';
import { request as httpsRequest } from 'node:https';
import { type ClusterRecord, type ComponentName, componentNames, startOrder } from './layout.ts';
import { runningPid } from './processes.ts';

export interface ComponentHealth {
  name: ComponentName;
  /** Undefined if it is not running. */
  pid: number | undefined;
  healthy: boolean;
  /** The result of the health check, or why it failed. */
  message: string;
}

const endpoints: Record<ComponentName, (port: number) => string> = {
  [componentNames.etcd]: (port) => `http://127.0.0.1:${port}/health`,
  [componentNames.apiServer]: (port) => `https://127.0.0.1:${port}/readyz`,
  [componentNames.controllerManager]: (port) => `https://127.0.0.1:${port}/healthz`,
  [componentNames.scheduler]: (port) => `https://127.0.0.1:${port}/healthz`,
  [componentNames.kwok]: (port) => `http://127.0.0.1:${port}/healthz`,
};

/** Checks the health of each component of a cluster, in the order of their start. */
export function clusterHealth(stateDir: string, record: ClusterRecord): Promise<ComponentHealth[]> {
  return Promise.all(
    startOrder.map(async (name) => {
      const pid = runningPid(stateDir, name);
      if (pid === undefined) return { name, pid, healthy: false, message: 'not running' };
      const { healthy, message } = await check(endpoints[name](record.ports[name]));
      return { name, pid, healthy, message };
    }),
  );
}

function check(url: string): Promise<{ healthy: boolean; message: string }> {
  return new Promise((resolve) => {
    // Controller manager and scheduler use self-signed certificates. No secrets are sent, and the response is not trusted.
    const options = { rejectUnauthorized: false, agent: false, timeout: 3000 } as const;
    const send = url.startsWith('https:') ? httpsRequest : httpRequest;
    const outgoing = send(url, options, (response) => {
      response.resume();
      const healthy = response.statusCode === 200;
      resolve({ healthy, message: healthy ? 'healthy' : `returns ${response.statusCode} at ${url}` });
    });
    outgoing.on('timeout', () => outgoing.destroy(new Error('no response within 3 s')));
    outgoing.on('error', (error) => resolve({ healthy: false, message: `${error.message} (${url})` }));
    outgoing.end();
  });
}
