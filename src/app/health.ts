import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Registry } from 'prom-client';

/** The server for probes and Prometheus, on a separate port. */
export interface HealthServer {
  readonly port: number;
  close(): Promise<void>;
}

export interface HealthOptions {
  host: string;
  /** 0: any free port. */
  port: number;
  metrics: Registry;
  /** Why the process is not ready. null: it is ready. */
  notReady: () => Promise<string | null> | string | null;
}

function listen(server: Server, host: string, port: number): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once('error', reject);
    server.listen(port, host, () => resolve());
  });
}

/**
 * Serves `/healthz` (the process runs), `/readyz` (the process can work) and `/metrics`.
 * @throws Error when the port is taken, with the setting to change
 */
export async function serveHealth(options: HealthOptions): Promise<HealthServer> {
  const answer = async (path: string): Promise<[status: number, type: string, body: string]> => {
    if (path === '/healthz') return [200, 'text/plain', 'ok\n'];
    if (path === '/metrics') return [200, options.metrics.contentType, await options.metrics.metrics()];
    if (path !== '/readyz') return [404, 'text/plain', 'not found\n'];
    const reason = await options.notReady();
    return reason === null ? [200, 'text/plain', 'ok\n'] : [503, 'text/plain', `${reason}\n`];
  };
  const server = createServer((request, response) => {
    answer((request.url ?? '').split('?')[0] ?? '')
      .catch((): [number, string, string] => [500, 'text/plain', 'failed\n'])
      .then(([status, type, body]) => response.writeHead(status, { 'content-type': type }).end(body));
  });
  try {
    await listen(server, options.host, options.port);
  } catch (error) {
    throw new Error(
      `failed to listen on ${options.host}:${options.port} for metrics: ${(error as NodeJS.ErrnoException).code}; next: set BERTH_METRICS_PORT to a free port (0 picks one)`,
      { cause: error },
    );
  }
  return {
    port: (server.address() as AddressInfo).port,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}
