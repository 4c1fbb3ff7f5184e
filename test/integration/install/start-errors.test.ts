/** A start that cannot work ends at once, says why in one sentence, and what to do next. */
import { randomBytes } from 'node:crypto';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import type { AddressInfo } from 'node:net';
import { createServer, type Server } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { logPath } from '../../cluster/processes.ts';
import { waitFor } from '../../cluster/wait.ts';
import { runBerth, startBerth } from '../../installation/berth-process.ts';
import { installBerth, roleKubeconfigs } from '../../installation/install.ts';
import { logLines } from '../../installation/log-file.ts';
import {
  createNamespace,
  deleteNamespace,
  environment,
  kubectlAsAdmin,
  postgres,
  uniqueName,
} from '../harness/environment.ts';

let stateDir: string;
let emptyDatabase: string;
let migratedDatabase: string;
let taken: Server;
let namespace: string;
let kubeconfigs: { listener: string; operator: string };
const names: string[] = [];
const keys = { BERTH_ENCRYPTION_KEYS: `k:${randomBytes(32).toString('base64')}` };
const ports = { BERTH_PORT: '0', BERTH_METRICS_PORT: '0' };

beforeAll(async () => {
  stateDir = mkdtempSync(join(tmpdir(), 'berth-start-'));
  const server = await postgres();
  names.push(uniqueName('empty'), uniqueName('migrated'));
  [emptyDatabase = '', migratedDatabase = ''] = await Promise.all(
    names.map((name) => server.createDatabase(name)),
  );
  await runBerth(stateDir, ['migrate'], { DATABASE_URL: migratedDatabase });
  taken = createServer().listen(0, '127.0.0.1');
  await new Promise((resolve) => taken.once('listening', resolve));
  await installBerth(environment());
  namespace = await createNamespace('start');
  kubeconfigs = await roleKubeconfigs(environment(), stateDir);
});
afterAll(async () => {
  taken.close();
  const server = await postgres();
  await Promise.all(names.map((name) => server.dropDatabase(name)));
  await deleteNamespace(namespace);
  rmSync(stateDir, { recursive: true });
});

async function failureOf(args: string[], settings: Record<string, string>): Promise<string> {
  try {
    await runBerth(stateDir, args, { ...ports, ...settings });
  } catch (error) {
    const message = error instanceof Error ? error.message : String(error);
    expect(message).not.toMatch(/\n\s+at /);
    return message;
  }
  throw new Error(`berth ${args.join(' ')} did not fail`);
}

describe('the API', () => {
  it('names every missing setting', async () => {
    const message = await failureOf(['api'], {});
    expect(message).toContain('DATABASE_URL is not set');
    expect(message).toContain('openssl rand -base64 32');
  });

  it('names the field of a rule for pipelines that trusts everyone, and the missing audience', async () => {
    const start = (claims: string, more: Record<string, string> = {}) => {
      const file = join(stateDir, 'policy.yaml');
      const rule = `{ name: r, claims: ${claims}, tenant: shop, roles: [deployer] }`;
      const issuer = `{ name: ci, issuer: "https://ci.example", jwks_url: "https://ci.example/keys", rules: [${rule}] }`;
      writeFileSync(file, `access: { workload_issuers: [${issuer}] }`);
      const database = 'postgres://berth:pw@127.0.0.1:1/berth';
      return failureOf(['api'], { ...keys, DATABASE_URL: database, BERTH_POLICY: file, ...more });
    };
    expect(
      await start('{ repository_owner: acme }', { BERTH_PUBLIC_URL: 'https://berth.example' }),
    ).toContain('access.workload_issuers.0.rules.0.claims: must contain at least one of sub, repository_id');
    expect(await start('{ sub: shop }')).toContain(
      'BERTH_PUBLIC_URL is not set: tokens of access.workload_issuers (BERTH_POLICY) must have it as their audience',
    );
  });

  it('reports that PostgreSQL cannot be reached, with its address', async () => {
    const message = await failureOf(['api'], {
      ...keys,
      DATABASE_URL: 'postgres://berth:hidden-pw@127.0.0.1:1/berth',
    });
    expect(message).toContain('127.0.0.1:1');
    expect(message).toContain('check that PostgreSQL runs and that DATABASE_URL is correct');
    expect(message).not.toContain('hidden-pw');
  });

  it('reports how to migrate an empty database', async () => {
    expect(await failureOf(['api'], { ...keys, DATABASE_URL: emptyDatabase })).toContain(
      'run `berth migrate`',
    );
  });

  it('waits for the migration when BERTH_MIGRATION_WAIT_SECONDS is set, and then becomes ready', async () => {
    const name = uniqueName('awaited');
    names.push(name);
    const url = await (await postgres()).createDatabase(name);
    const settings = {
      ...keys,
      DATABASE_URL: url,
      ...ports,
      BERTH_MIGRATION_WAIT_SECONDS: '120',
    };
    const log = logPath(stateDir, 'waits');
    const starting = startBerth({ stateDir, role: 'api', name: 'waits', settings });
    const isWaiting = () =>
      logLines(log, 0).some(({ msg }) => msg === 'waiting for the database to be migrated');
    await waitFor('the API to say what it waits for', async () => isWaiting(), { timeoutMs: 60_000 });
    await runBerth(stateDir, ['migrate'], { DATABASE_URL: url });
    const api = await starting;
    expect((await fetch(`${api.url}/readyz`)).status).toBe(200);
    await api.stop();
  });

  it('reports that its port is in use, and how to choose another', async () => {
    const { port } = taken.address() as AddressInfo;
    const settings = { ...keys, DATABASE_URL: migratedDatabase, BERTH_PORT: String(port) };
    expect(await failureOf(['api'], settings)).toContain('set BERTH_PORT to a free port');
  });

  it('reports that its metrics port is in use, and how to choose another', async () => {
    const { port } = taken.address() as AddressInfo;
    const settings = { ...keys, DATABASE_URL: migratedDatabase, BERTH_METRICS_PORT: String(port) };
    expect(await failureOf(['api'], settings)).toContain('set BERTH_METRICS_PORT to a free port');
  });

  it('names the invalid field of the policy file', async () => {
    const policy = join(stateDir, 'policy.yaml');
    writeFileSync(policy, 'volumes: { nfs: maybe }\n');
    const message = await failureOf(['api'], {
      ...keys,
      DATABASE_URL: migratedDatabase,
      BERTH_POLICY: policy,
    });
    expect(message).toContain('volumes.nfs');
  });
});

describe('the commands migrate and keys create', () => {
  it('report that PostgreSQL cannot be reached', async () => {
    const message = await failureOf(['migrate'], { DATABASE_URL: 'postgres://berth@127.0.0.1:1/berth' });
    expect(message).toContain('check that PostgreSQL runs and that DATABASE_URL is correct');
  });

  it('grant the scope admin only when it is requested', async () => {
    const scopesOf = async (...more: string[]) =>
      JSON.parse(
        await runBerth(stateDir, ['keys', 'create', '--tenant', 'a', '--name', 'b', '-o', 'json', ...more], {
          DATABASE_URL: migratedDatabase,
        }),
      ).scopes as string[];
    expect(await scopesOf()).not.toContain('admin');
    expect(await scopesOf('--scopes', 'admin')).toEqual(['admin']);
  });

  it('require a migrated database', async () => {
    const args = ['keys', 'create', '--tenant', 'a', '--name', 'b'];
    expect(await failureOf(args, { DATABASE_URL: emptyDatabase })).toContain('run `berth migrate`');
  });
});

describe('the operator', () => {
  it('reports that no cluster is configured', async () => {
    expect(await failureOf(['operator'], { KUBECONFIG: '' })).toContain('set KUBECONFIG');
  });

  it('reports a missing kubeconfig with its path', async () => {
    const message = await failureOf(['operator'], { BERTH_OPERATOR_KUBECONFIG: '/nowhere/config' });
    expect(message).toContain('/nowhere/config');
    expect(message).toContain('next:');
  });

  it('names the rights that it lacks, and how to grant them', async () => {
    // The listener's account may not do an operator's work.
    const message = await failureOf(['operator'], {
      BERTH_OPERATOR_KUBECONFIG: kubeconfigs.listener,
      BERTH_NAMESPACE: namespace,
    });
    expect(message).toContain('may not');
    expect(message).toContain(
      'run helm upgrade, or kubectl apply with the manifests that were rendered for this installation',
    );
    expect(await kubectlAsAdmin(['get', 'leases', '-n', namespace])).toBe('');
  });
});

describe('the listener', () => {
  it('reports that no hub is configured', async () => {
    const message = await failureOf(['listener'], { BERTH_LISTENER_KUBECONFIG: kubeconfigs.listener });
    expect(message).toContain('set BERTH_HUB_URL');
  });
});
