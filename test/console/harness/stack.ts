/**
 * One whole Berth with the console for all files of the project `console` (vitest's globalSetup): PostgreSQL, a Kubernetes API server, hub,
 * listener and operator, and an identity provider. Without a browser, nothing is started, and the tests are skipped.
 */
import type { TestProject } from 'vitest/node';
import { buildConsole } from '../../../scripts/console/build.ts';
import { SCOPES } from '../../../src/domain/core/scopes.ts';
import { openDatabase } from '../../../src/hub/store/core/database.ts';
import { createApiKey } from '../../../src/hub/store/tenancy/api-keys.ts';
import { findChromium } from '../../cluster/chromium.ts';
import { freePorts } from '../../cluster/ports.ts';
import { startPostgres } from '../../cluster/postgres.ts';
import { startOnPort } from '../../installation/berth-process.ts';
import { prepareBerth } from '../../integration/harness/berth-setup.ts';
import startEnvironment from '../../integration/harness/cluster.ts';
import { startIdentityProvider } from '../../integration/harness/identity-provider.ts';
import { silent } from '../../integration/harness/migrated-database.ts';

/** What tests need to know about the running Berth. */
export interface ConsoleStack {
  /** Base URL of the API, without a slash at its end. */
  readonly url: string;
  readonly tenantId: string;
  readonly apiKey: string;
  /** A key of the platform with all scopes. */
  readonly adminKey: string;
  /** For more API processes of the same installation. */
  readonly settings: Readonly<Record<string, string>>;
  readonly stateDir: string;
  /** Namespace of the workloads. */
  readonly namespace: string;
}

export interface ConsoleEnvironment {
  /** Why the tests are skipped; null: they run. */
  readonly skipped: string | null;
  readonly stack: ConsoleStack | null;
}

declare module 'vitest' {
  interface ProvidedContext {
    console: ConsoleEnvironment;
  }
}

const NO_BROWSER =
  'there is no browser: none is named by CHROME_PATH or found on PATH; next: npm run browser:install';

export default async function setup(project: TestProject): Promise<() => Promise<void>> {
  if (findChromium() === null) {
    console.error(`skipped the tests of the console: ${NO_BROWSER}`);
    project.provide('console', { skipped: NO_BROWSER, stack: null });
    return async () => {};
  }
  const releasers: (() => Promise<void>)[] = [];
  const release = async () => {
    for (const each of releasers.reverse()) await each();
  };
  try {
    const stack = await startStack(project, releasers);
    project.provide('console', { skipped: null, stack });
    return release;
  } catch (error) {
    await release();
    throw error;
  }
}

async function createAdminKey(url: string): Promise<string> {
  const database = openDatabase({ url, poolSize: 1, logger: silent });
  try {
    const added = { tenantId: null, name: 'admin of the tests', scopes: [...SCOPES] };
    const actor = { kind: 'system', name: 'test' } as const;
    return await database.platform.transaction(
      async (transaction) => (await createApiKey(transaction, { ...added, actor })).key,
    );
  } finally {
    await database.close();
  }
}

/** @param releasers gets a function that stops each part */
async function startStack(project: TestProject, releasers: (() => Promise<void>)[]): Promise<ConsoleStack> {
  const [leave] = await Promise.all([startEnvironment(project), buildConsole()]);
  releasers.push(leave);
  const access = project.getProvidedContext().environment;
  const [port = 0] = await freePorts(1);
  const url = `http://localhost:${port}`;
  const provider = await startIdentityProvider(`${url}/v2/auth/callback`);
  releasers.push(() => provider.stop());
  provider.person = { sub: 'ada', email: 'ada@example.com', groups: ['shop-developers'] };
  const prepared = await prepareBerth('console', {
    access,
    postgres: await startPostgres({ databaseUrl: access.databaseUrl }),
    settings: {
      BERTH_PORT: String(port),
      BERTH_PUBLIC_URL: url,
      BERTH_OIDC_ISSUER: provider.issuer,
      BERTH_OIDC_CLIENT_ID: provider.clientId,
      BERTH_OIDC_CLIENT_SECRET: provider.clientSecret,
      BERTH_OIDC_SCOPES: 'openid profile email groups',
    },
  });
  releasers.push(() => prepared.remove());
  const { tenantId, apiKey, settings, stateDir, namespace } = prepared;
  const berth = await startOnPort({ stateDir, role: 'all', name: 'berth', settings });
  releasers.push(() => berth.stop());
  const adminKey = await createAdminKey(prepared.database.url);
  return { url, tenantId, apiKey, adminKey, settings, stateDir, namespace };
}
