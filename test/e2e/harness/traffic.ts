/** Requests to an app without a pause, which show whether one of them is lost. */
import { http } from './environment.ts';

export interface Traffic {
  /** Requests that were answered with 200, by the version that answered. */
  served: Record<string, number>;
  failures: string[];
  stop(): Promise<void>;
}

/** Starts two clients that send requests to a Service without a pause, each time on a new connection. */
export function startTraffic(to: { host: string; port: number }): Traffic {
  const traffic: Traffic = { served: {}, failures: [], stop: async () => {} };
  let going = true;
  const client = async () => {
    while (going) {
      try {
        const { status, body } = await http(to, 'GET', '/', { timeoutMs: 10_000 });
        if (status !== 200) throw new Error(`${status} ${body}`);
        const { version } = JSON.parse(body) as { version: string };
        traffic.served[version] = (traffic.served[version] ?? 0) + 1;
      } catch (error) {
        traffic.failures.push(`${new Date().toISOString()} ${(error as Error).message}`);
      }
    }
  };
  const clients = [client(), client()];
  traffic.stop = async () => {
    going = false;
    await Promise.all(clients);
  };
  return traffic;
}
