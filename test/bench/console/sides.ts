/** Berth's console with its API, and the floor, each as a page that a browser opens. */
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { Browser } from 'playwright-core';
import { freePorts } from '../../cluster/ports.ts';
import { startFloorProgram } from '../api/floor-process.ts';
import type { BenchHub } from '../api/hub.ts';
import type { BenchContext } from '../bench.ts';
import type { Visited } from './visits.ts';

type Build = Pick<typeof import('../../../scripts/console/build.ts'), 'buildConsole'>;

/** Builds the console of the measured checkout, and starts its API. Its settings have the address, which people sign in under. */
export async function startConsoleApi(context: BenchContext, hub: BenchHub): Promise<string> {
  const { buildConsole } = (await import(join(context.root, 'scripts/console/build.ts'))) as Build;
  context.log(await buildConsole());
  const [port = 0] = await freePorts(1);
  const url = `http://localhost:${port}`;
  await hub.startApi('api', { BERTH_PORT: String(port), BERTH_PUBLIC_URL: url });
  return url;
}

/** The fleet page, for someone who is signed in. */
export async function fleetPage(hub: BenchHub, browser: Browser, api: string): Promise<Visited> {
  const context = await browser.newContext();
  try {
    const answer = await context.request.post(`${api}/v2/auth/key-session`, {
      data: { api_key: hub.apiKey },
      headers: { origin: api },
    });
    if (!answer.ok()) throw new Error(`failed to sign in: ${answer.status()} ${await answer.text()}`);
    const session = await context.storageState();
    return { browser, session, url: `${api}/console/t/${await hub.tenantId()}/deployments` };
  } finally {
    await context.close();
  }
}

const SERVER = fileURLToPath(new URL('console-floor-server.ts', import.meta.url));

/** The page of the floor. It stops with the hub. */
export async function floorPage(context: BenchContext, hub: BenchHub, browser: Browser): Promise<Visited> {
  const program = { name: 'console-floor', server: SERVER, settings: hub.databaseUrl };
  const { url } = await startFloorProgram(context, hub, program);
  return { browser, url, session: { cookies: [], origins: [] } };
}
