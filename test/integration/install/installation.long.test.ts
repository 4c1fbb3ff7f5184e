/**
 * Each profile of the chart in a real API server that enforces the Pod Security level restricted: installed, upgraded
 * and removed by Helm, applied by kubectl; and Berth at work with exactly the rights that it gives.
 */
import { randomBytes } from 'node:crypto';
import { cpSync, mkdtempSync, readFileSync, realpathSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { CHART, profileFile, profiles, renderedFile } from '../../../scripts/manifests.ts';
import { FEW_COLLECTIONS, type LocalCluster, startCluster } from '../../cluster/cluster.ts';
import { FIRST_TIME_MS } from '../../cluster/images/tools.ts';
import { kubectl as kubectlOf } from '../../cluster/kubectl.ts';
import { type OrdinaryDatabase, ordinaryDatabase } from '../../cluster/ordinary-database.ts';
import { startWatchdog, type Watchdog } from '../../cluster/processes.ts';
import { waitFor } from '../../cluster/wait.ts';
import { type BerthProcess, runBerth, startBerth } from '../../installation/berth-process.ts';
import { helm as helmOf } from '../../installation/helm.ts';
import { BERTH_NAMESPACE, manifestObjects } from '../../installation/install.ts';
import { VERSION } from '../../installation/version.ts';
import { type DeploymentAnswer, isReady, type KubeItem, smallDeployment } from '../harness/berth.ts';
import { postgres } from '../harness/environment.ts';
import { installedWorkloads, runInstalledMigration, startInstalled } from '../harness/installed.ts';

const CRD = 'crd/manageddeployments.berth.dev';
const INTERNAL = 'internal-image.json';

let cluster: LocalCluster;
let stateDir: string;
let watchdog: Watchdog;
let database: OrdinaryDatabase;
let secret: Record<string, string>;
/** Length of the audit log before an installation. */
let auditedFrom: number;
let processes: BerthProcess[] = [];

const kubectl = (...args: string[]) => kubectlOf(cluster, args);
const helm = (...args: string[]) => helmOf(cluster, args);
const get = async <T>(...args: string[]) => JSON.parse(await kubectl('get', '-o', 'json', ...args)) as T;

beforeAll(async () => {
  stateDir = mkdtempSync(join(realpathSync(tmpdir()), 'berth-installation-'));
  watchdog = startWatchdog(stateDir, { removeState: true });
  cluster = await startCluster({ ...FEW_COLLECTIONS, audit: true, log: () => undefined });
  await helmOf(cluster, ['version']);
}, FIRST_TIME_MS);
afterAll(async () => {
  await cluster?.stop();
  watchdog?.release();
  rmSync(stateDir, { recursive: true, force: true });
});

/** What the user makes before anything else: namespace and Secret. */
async function prepare(): Promise<void> {
  auditedFrom = statSync(cluster.auditLogPath).size;
  database = await ordinaryDatabase(await postgres());
  secret = {
    DATABASE_URL: database.url,
    BERTH_ENCRYPTION_KEYS: `k1:${randomBytes(32).toString('base64')}`,
    BERTH_BOOTSTRAP_API_KEY: randomBytes(32).toString('hex'),
    BERTH_LISTENER_KEY: randomBytes(32).toString('hex'),
  };
  await kubectl('create', 'namespace', BERTH_NAMESPACE);
  await kubectl('label', 'namespace', BERTH_NAMESPACE, 'pod-security.kubernetes.io/enforce=restricted');
  const literals = Object.entries(secret).map(([name, value]) => `--from-literal=${name}=${value}`);
  await kubectl('-n', BERTH_NAMESPACE, 'create', 'secret', 'generic', 'berth', ...literals);
}

async function stopProcesses(): Promise<void> {
  await Promise.all(processes.map((process) => process.stop()));
  processes = [];
}
afterEach(stopProcesses);

/** Every pod of every Deployment was admitted and is available. */
async function untilAvailable(): Promise<void> {
  await waitFor(
    'every Deployment to be available',
    async () => {
      const found = await installedWorkloads(cluster, 'deployments');
      return found.length > 0 &&
        found.every(({ spec, status }) => status?.availableReplicas === spec.replicas)
        ? found
        : undefined;
    },
    { timeoutMs: 60_000 },
  );
}

async function call(url: string, method: string, path: string, body?: unknown): Promise<DeploymentAnswer> {
  const response = await fetch(new URL(path, url), {
    method,
    headers: { 'x-api-key': secret['BERTH_BOOTSTRAP_API_KEY'] ?? '', 'content-type': 'application/json' },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });
  const text = await response.text();
  if (!response.ok && response.status !== 404)
    throw new Error(`${method} ${path}: ${response.status} ${text}`);
  return response.status === 404 ? ({ status: 'gone' } as DeploymentAnswer) : JSON.parse(text || '{}');
}

const until = (url: string, id: string, what: string, check: (answer: DeploymentAnswer) => boolean) =>
  waitFor(
    what,
    async () => {
      const answer = await call(url, 'GET', `/v2/deployments/${id}`);
      if (check(answer)) return answer;
      throw new Error(JSON.stringify(answer.conditions));
    },
    { timeoutMs: 60_000 },
  );

interface AuditLine {
  user: { username: string };
  verb: string;
  objectRef?: { resource: string; name?: string; namespace?: string };
  responseStatus?: { code: number };
}

/** What Berth's accounts asked for since `prepare` and may not. */
function refusals(): string[] {
  return (
    readFileSync(cluster.auditLogPath)
      .subarray(auditedFrom)
      .toString('utf8')
      .split('\n')
      // The last one may be half written.
      .slice(0, -1)
      .map((line) => JSON.parse(line) as AuditLine)
      .filter(({ user }) => user.username.startsWith(`system:serviceaccount:${BERTH_NAMESPACE}:`))
      .filter(({ responseStatus }) => responseStatus?.code === 403)
      .map(({ user, verb, objectRef: { resource = '', namespace = '', name = '' } = { resource: '' } }) =>
        [user.username.split(':').at(-1), verb, resource, `${namespace}/${name}`].join(' '),
      )
  );
}

/** This chart, with a custom resource that is an older one in that it has no short name. */
function olderChart(): string {
  const folder = join(stateDir, 'older-chart');
  rmSync(folder, { recursive: true, force: true });
  cpSync(CHART, folder, { recursive: true });
  const edit = (file: string, pattern: RegExp, text: string) =>
    writeFileSync(join(folder, file), readFileSync(join(folder, file), 'utf8').replace(pattern, text));
  edit('files/manageddeployments.yaml', / +shortNames:\n +- mdep\n/, '');
  edit('files/manageddeployments.yaml', /crd-revision: "\d+"/, 'crd-revision: "0"');
  edit('Chart.yaml', /^version: .*$/m, 'version: 0.0.9');
  return folder;
}

async function shortNames(): Promise<string[]> {
  const { spec } = await get<{ spec: { names: { shortNames?: string[] } } }>(CRD);
  return spec.names.shortNames ?? [];
}

/** How often each object of a profile has been changed. */
async function generations(profile: string): Promise<Record<string, unknown>> {
  const { items } = await get<{ items: KubeItem[] }>('-f', renderedFile(profile));
  return Object.fromEntries(
    items.map(({ kind, metadata: { name, uid, generation } }) => [`${kind} ${name}`, [uid, generation]]),
  );
}

/** A hub that is elsewhere, with the keys of the Secret. */
async function hubElsewhere(): Promise<string> {
  const settings = {
    ...secret,
    BERTH_HOST: '127.0.0.1',
    BERTH_PORT: '0',
    BERTH_METRICS_PORT: '0',
  };
  const hub = await startBerth({ stateDir, role: 'api', name: 'hub-elsewhere', settings });
  processes.push(hub);
  return hub.url;
}

const bodyFor = (profile: string) =>
  profile === 'cloud'
    ? JSON.parse(readFileSync(fileURLToPath(new URL(`../../samples/${INTERNAL}`, import.meta.url)), 'utf8'))
    : smallDeployment(`app of ${profile}`);

describe.each(profiles())('the profile %s', (profile) => {
  const args = ['-n', BERTH_NAMESPACE, '-f', profileFile(profile)];
  const wait = ['--wait', '--timeout', '90s'];

  beforeAll(prepare);
  afterAll(async () => {
    await stopProcesses();
    await kubectl('delete', '-f', renderedFile(profile), '--ignore-not-found', '--timeout=60s');
    await database?.drop();
  });

  it('is installed by Helm, with every pod admitted and the migration completed', async () => {
    await helm('install', 'berth', CHART, ...args, ...wait);
    await untilAvailable();
    const jobs = await installedWorkloads(cluster, 'jobs');
    expect(jobs.map(({ status }) => status?.succeeded)).toEqual(profile === 'remote-listener' ? [] : [1]);
    const release = await helm('get', 'all', 'berth', '-n', BERTH_NAMESPACE);
    for (const value of Object.values(secret)) expect(release).not.toContain(value);
  });

  it('works with only the rights of its accounts', async () => {
    if (profile === 'remote-listener') {
      await runBerth(stateDir, ['migrate'], { DATABASE_URL: database.url });
    }
    await runInstalledMigration(cluster, stateDir);
    const hubUrl = profile === 'remote-listener' ? await hubElsewhere() : undefined;
    const started = await startInstalled(cluster, stateDir, hubUrl);
    processes.push(...started.processes);
    const { url } = started;
    const { id } = await call(url, 'POST', '/v2/deployments', bodyFor(profile));
    await until(url, id, `${id} to be READY`, isReady);
    await call(url, 'DELETE', `/v2/deployments/${id}`);
    await until(url, id, `${id} to be gone`, ({ status }) => status === 'gone');
    const left = await kubectl(
      'get',
      'manageddeployments,secrets,pvc',
      '-A',
      '-l',
      `berth.dev/deployment-id=${id}`,
      '-o',
      'name',
    );
    expect(left).toBe('');
    // Which cluster it is, it looks up where it may: see src/cluster/listener/session/cluster-facts.ts.
    const expected =
      profile === 'namespaced' ? ['berth-listener get namespaces kube-system/kube-system'] : [];
    expect([...new Set(refusals())]).toEqual(expected);
  });

  it('is uninstalled by Helm, which keeps the custom resources and the namespaces', async () => {
    await helm('uninstall', 'berth', '-n', BERTH_NAMESPACE, '--wait', '--timeout', '60s');
    const namespaces = manifestObjects(profile).filter(({ kind }) => kind === 'Namespace');
    for (const { metadata } of namespaces) {
      const left = await get<{ status: { phase: string } }>('namespace', metadata.name);
      expect(left.status.phase, metadata.name).toBe('Active');
    }
    expect(await kubectl('get', CRD, '-o', 'name')).toContain('manageddeployments');
    expect(await installedWorkloads(cluster, 'deployments')).toEqual([]);
  });
});

describe('a change of the version', () => {
  const profile = 'ha';
  const args = ['-n', BERTH_NAMESPACE, '-f', profileFile(profile)];
  const wait = ['--wait', '--timeout', '90s'];

  beforeAll(prepare);
  afterAll(async () => {
    await kubectl('delete', '-f', renderedFile(profile), '--ignore-not-found', '--timeout=60s');
    await database?.drop();
  });

  it('upgrades the CRD with Helm, and rolls the pods only when settings change', async () => {
    await helm('install', 'berth', olderChart(), ...args, ...wait);
    expect(await shortNames()).toEqual([]);
    const templates = async () =>
      (await installedWorkloads(cluster, 'deployments')).map(({ spec }) => JSON.stringify(spec.template));
    const before = await templates();
    await helm('upgrade', 'berth', CHART, ...args, ...wait);
    expect(await shortNames()).toEqual(['mdep']);
    expect(await templates()).toEqual(before);
    await helm('upgrade', 'berth', CHART, ...args, '--set', 'config.BERTH_LOG_LEVEL=warn', ...wait);
    const after = await templates();
    expect(after.filter((template) => before.includes(template))).toEqual([]);
    await untilAvailable();
  });

  it('keeps the CRD on a downgrade with the older chart, and rejects a rollback that would change the CRD', async () => {
    const release = ['berth', '-n', BERTH_NAMESPACE];
    // To the same version with other settings.
    await helm('rollback', 'berth', '2', '-n', BERTH_NAMESPACE);
    // What Helm writes again at a rollback is not rendered anew: the API server itself refuses it.
    await expect(helm('rollback', 'berth', '1', '-n', BERTH_NAMESPACE)).rejects.toThrow(
      /has the custom resource of Berth .* an older one would lose fields/,
    );
    expect(await shortNames()).toEqual(['mdep']);
    await helm('upgrade', 'berth', olderChart(), ...args);
    expect(await shortNames()).toEqual(['mdep']);
    expect(await helm('get', 'manifest', ...release)).not.toContain('kind: CustomResourceDefinition');
  });

  it('applies the manifests with kubectl, a second time without a change, and then the next version', async () => {
    await helm('uninstall', 'berth', '-n', BERTH_NAMESPACE, '--wait', '--timeout', '60s');
    await kubectl('apply', '-f', renderedFile(profile));
    await untilAvailable();
    const before = await generations(profile);
    await kubectl('apply', '-f', renderedFile(profile));
    expect(await generations(profile)).toEqual(before);
    const next = readFileSync(renderedFile(profile), 'utf8')
      .replaceAll(`berth:${VERSION}`, 'berth:next')
      .replace(/name: berth-migrate-\w+/, 'name: berth-migrate-next');
    await kubectlOf(cluster, ['apply', '-f', '-'], next);
    await untilAvailable();
  });
});
