import { readFileSync } from 'node:fs';
import { type Agent, request } from 'node:https';

export interface ApiAccess {
  server: string;
  caPem: string;
  token: string;
}

export interface ApiAnswer {
  status: number;
  body: string;
}

/** Sends one request to the API server, and verifies its certificate. Rejects if the server cannot be reached. */
export function apiRequest(
  access: ApiAccess,
  path: string,
  options: { method?: string; body?: unknown; timeoutMs?: number; agent?: Agent } = {},
): Promise<ApiAnswer> {
  return new Promise((resolve, reject) => {
    const outgoing = request(
      new URL(path, access.server),
      {
        method: options.method ?? 'GET',
        ca: access.caPem,
        agent: options.agent ?? false,
        timeout: options.timeoutMs ?? 5000,
        headers: { authorization: `Bearer ${access.token}`, 'content-type': 'application/json' },
      },
      (response) => {
        let body = '';
        response.setEncoding('utf8').on('data', (chunk: string) => {
          body += chunk;
        });
        response.on('error', reject);
        response.on('end', () => resolve({ status: response.statusCode ?? 0, body }));
      },
    );
    outgoing.on('timeout', () => outgoing.destroy(new Error(`no response from ${access.server}${path}`)));
    outgoing.on('error', reject);
    outgoing.end(options.body === undefined ? undefined : JSON.stringify(options.body));
  });
}

interface KubeconfigJson {
  clusters: [{ cluster: { server: string; 'certificate-authority-data': string } }];
  users: [{ user: { token: string } }];
}

/** Reads the access from a kubeconfig that writeKubeconfig has written. */
export function accessFromKubeconfig(path: string): ApiAccess {
  const config = JSON.parse(readFileSync(path, 'utf8')) as KubeconfigJson;
  const { cluster } = config.clusters[0];
  return {
    server: cluster.server,
    caPem: Buffer.from(cluster['certificate-authority-data'], 'base64').toString('utf8'),
    token: config.users[0].user.token,
  };
}
