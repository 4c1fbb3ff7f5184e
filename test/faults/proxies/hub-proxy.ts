/** The proxy between listener and hub. */
import http from 'node:http';
import https from 'node:https';
import type { HttpExchange } from './http-exchange.ts';
import { serve } from './http-faults.ts';
import { HttpProxy } from './http-proxy.ts';
import type { HttpRequest } from './http-traffic.ts';
import type { HubFault, HubProxy } from './hub-traffic.ts';

/** Shorter than the idle timeout of the hub (72 s), so that no request uses a connection that the hub is closing. */
const IDLE_MS = 30_000;

class FaultyHub extends HttpProxy<HttpRequest, HubFault> implements HubProxy {
  async urlFor(client: string, url: string): Promise<string> {
    const server = new URL(url);
    const options = { keepAlive: true, timeout: IDLE_MS };
    const agent = server.protocol === 'https:' ? new https.Agent(options) : new http.Agent(options);
    return `http://127.0.0.1:${await this.portFor(client, { server, agent })}`;
  }

  protected override createServer(handler: http.RequestListener): http.Server {
    // Only the clients close idle connections.
    const server = http.createServer({ keepAliveTimeout: 0 }, handler);
    server.on('clientError', (_error, socket) => socket.destroy());
    return server;
  }

  protected override describe(request: HttpRequest): HttpRequest {
    return request;
  }

  protected override serve(exchange: HttpExchange<HttpRequest>, rule?: { fault: HubFault }): Promise<void> {
    return serve(exchange, rule?.fault, {
      errorBody: (status) => ({ detail: `answered by the proxy: ${status}` }),
    });
  }
}

/** Starts the proxy, on the loopback interface. */
export async function startHubProxy(): Promise<HubProxy> {
  return new FaultyHub();
}
