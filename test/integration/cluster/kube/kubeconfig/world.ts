/** A real API server with the ways to authenticate and to reach it, and kubeconfigs for it. */
import { chmodSync, mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { startApiServer, type TestApiServer } from './api-server.ts';
import { type Issuer, startIssuer } from './issuer.ts';
import { startConnectProxy, startSocksProxy, type TestProxy } from './proxies.ts';

export interface World {
  readonly folder: string;
  readonly issuer: Issuer;
  readonly server: TestApiServer;
  readonly proxies: { open: TestProxy; closed: TestProxy; socks: TestProxy };
  /** A folder of one kubeconfig, for the files that it names. */
  newFolder(): string;
  /** Writes a kubeconfig. The function may add files to its folder. */
  kubeconfig(parts: Parts | ((at: string) => Parts)): string;
  stop(): Promise<void>;
}

export interface Parts {
  cluster?: object;
  user?: object;
  /** Fields of the file that replace the usual ones. */
  file?: object;
}

/** A kubeconfig with the expected outcome: `user NAME`, or the class of the failure. */
export type Row = readonly [
  name: string,
  outcome: string,
  parts: (world: World) => Parts | ((at: string) => Parts),
];

export async function startWorld(): Promise<World> {
  const folder = mkdtempSync(path.join(realpathSync(tmpdir()), 'berth-kubeconfigs-'));
  const issuer = await startIssuer();
  const [open, closed, socks] = await Promise.all([
    startConnectProxy(),
    startConnectProxy('user:password'),
    startSocksProxy(),
  ]);
  const server = await startApiServer(path.join(folder, 'server'), issuer);
  let folders = 0;
  const newFolder = () => {
    folders += 1;
    const made = path.join(folder, `config-${folders}`);
    mkdirSync(made);
    return made;
  };
  return {
    folder,
    issuer,
    server,
    proxies: { open, closed, socks },
    newFolder,
    kubeconfig: (parts) => {
      const at = newFolder();
      const file = path.join(at, 'config');
      const content = contentOf(server, typeof parts === 'function' ? parts(at) : parts);
      writeFileSync(file, content, { mode: 0o600 });
      return file;
    },
    stop: async () => {
      await server.stop();
      await Promise.all([open, closed, socks].map((proxy) => proxy.stop()));
      await issuer.stop();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

function contentOf(server: TestApiServer, { cluster = {}, user = {}, file = {} }: Parts): string {
  const authority = { 'certificate-authority-data': base64(server.caPem) };
  const usual = {
    apiVersion: 'v1',
    kind: 'Config',
    clusters: [{ name: 'k', cluster: { server: server.url, ...authority, ...cluster } }],
    users: [{ name: 'u', user }],
    contexts: [{ name: 'c', context: { cluster: 'k', user: 'u' } }],
    'current-context': 'c',
  };
  return JSON.stringify({ ...usual, ...file });
}

export const base64 = (text: string) => Buffer.from(text).toString('base64');

/** @returns the name, for a relative path */
export function writeFile(at: string, name: string, content: string, mode = 0o600): string {
  const file = path.join(at, name);
  writeFileSync(file, content, { mode });
  chmodSync(file, mode);
  return name;
}

export const V1 = 'client.authentication.k8s.io/v1';

/** A user with an exec plugin that is a shell script. */
export function plugin(at: string, script: string, more: object = {}): { exec: object } {
  const command = `./${writeFile(at, 'plugin', `#!/bin/sh\n${script}\n`, 0o755)}`;
  return { exec: { apiVersion: V1, command, interactiveMode: 'Never', ...more } };
}

/** The line of a script that prints a credential. */
export const credential = (status: object, apiVersion = V1) =>
  `echo '${JSON.stringify({ apiVersion, kind: 'ExecCredential', status })}'`;
