/** A user of a running API without a cluster. Each test has a tenant and a folder of its own. */

import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, type IncomingMessage, request, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, beforeEach, expect, onTestFinished } from 'vitest';
import type { ApiDeps } from '../../../src/hub/api/core/deps.ts';
import { ALL_SCOPES, type ApiFixture, type Client, type Deployment, startApi } from '../harness/api.ts';
import { type Run, runProgram } from './cli.ts';

export let api: ApiFixture;
export let client: Client;
export let folder: string;
/** The environment of the user's commands. */
export let env: { HOME: string; BERTH_URL: string; BERTH_API_KEY: string };
let url: string;

/** Starts the API before the tests of a file. */
export function usesApi(deps: Partial<ApiDeps> = {}): void {
  beforeAll(async () => {
    api = await startApi({ deps: { deletionGraceSeconds: 3600, ...deps } });
    url = await api.app.listen({ host: '127.0.0.1', port: 0 });
  });
  afterAll(() => api?.stop());
  beforeEach(async () => {
    client = await api.tenant(ALL_SCOPES);
    const made = mkdtempSync(join(tmpdir(), 'berth-user-'));
    folder = made;
    env = { HOME: made, BERTH_URL: url, BERTH_API_KEY: client.key };
    return () => rmSync(made, { recursive: true, force: true });
  });
}

/** Runs a command that must end with an exit code. */
export async function run(
  code: number,
  words: readonly string[],
  more: Record<string, string> = {},
  input = '',
): Promise<Run> {
  const ended = await runProgram(words, { input, env: { ...env, ...more } });
  expect(ended, `${words.join(' ')}: ${ended.out}${ended.err}`).toMatchObject({ code });
  return ended;
}

/** Writes a file of the user. */
export function file(name: string, text: string): string {
  const path = join(folder, name);
  writeFileSync(path, text);
  return path;
}

/** A document of a deployment. */
export const yaml = (name: string, more = '', image = '1.0.0') => `name: ${name}
source: external_image
source_config: {resource_spec: {cpu: 0.5}}
source_revision_config: {image_uri: "registry.example/shop/web:${image}"}
${more}
`;

export async function deployments(): Promise<Deployment[]> {
  return (await client.call<{ resources: Deployment[] }>('GET', '/v2/deployments')).body.resources;
}

/** @throws unless the deployment exists */
export async function one(name: string): Promise<Deployment> {
  const found = (await deployments()).find((each) => each.name === name);
  if (found === undefined) throw new Error(`there is no deployment ${name}`);
  return found;
}

/** A server that forwards requests to the API. `before` runs before a request is forwarded, and can end it. */
export async function proxy(
  before: (sent: IncomingMessage, response: ServerResponse) => Promise<boolean> | boolean,
): Promise<string> {
  const server = createServer(async (sent, response) => {
    if (await before(sent, response)) return;
    const { method, headers } = sent;
    const forwarded = request(new URL(sent.url ?? '/', url), { method, headers }, (answer) => {
      response.writeHead(answer.statusCode ?? 500, answer.headers);
      answer.pipe(response);
    });
    response.on('close', () => forwarded.destroy());
    forwarded.on('error', () => response.destroy());
    sent.pipe(forwarded);
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}
