/**
 * `berth listener doctor`: every failure is produced for real, and the doctor reports it with its remedy, and nothing
 * else.
 */
import { execFile } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { createServer, type IncomingMessage, request, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { stringify } from 'yaml';
import { diagnose } from '../../../../src/cli/admin/listener-doctor.ts';
import type { Check, CheckOutcome, Finding } from '../../../../src/cluster/listener/doctor/finding.ts';
import { customResourceDefinition } from '../../../../src/contract/crd/crd.ts';
import { freePorts } from '../../../cluster/ports.ts';
import { waitFor } from '../../../cluster/wait.ts';
import { compileCache, runBerth } from '../../../installation/berth-process.ts';
import { installBerth, roleKubeconfigs } from '../../../installation/install.ts';
import { authority, selfSigned } from '../../../unit/cluster/kube/self-signed.ts';
import { startWholeBerth, type WholeBerth } from '../../harness/berth.ts';
import {
  createNamespace,
  deleteNamespace,
  environment,
  kubectlAsAdmin,
  uniqueName,
} from '../../harness/environment.ts';
import { Link, startTlsFront, type TlsFront } from '../../harness/link.ts';
import { type RemoteCluster, startRemoteCluster } from '../../harness/remote-cluster.ts';

type Settings = Record<string, string>;

const root = fileURLToPath(new URL('../../../..', import.meta.url));
const { version } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as { version: string };

let hub: WholeBerth;
let bare: RemoteCluster;
let kubeconfigs: { listener: string; operator: string };
/** Settings without any failure. */
let good: Settings;
let healthy: Finding[];
let keys: { listener: string; reader: string; stranger: string };
const fronts: TlsFront[] = [];
const servers: Server[] = [];
let silent: Link;
let closedPort: number;
let leaving: string;
let full: string;
const urls = { trusted: '', expired: '', otherName: '', unknown: '' };

const hubPort = () => Number(new URL(hub.process().url).port);
const file = (name: string, content: string) => {
  const path = join(hub.stateDir, name);
  writeFileSync(path, content, { mode: 0o600 });
  return path;
};

async function serve(answer: (request: IncomingMessage, response: ServerResponse) => void): Promise<string> {
  const server = createServer(answer);
  servers.push(server);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', () => resolve()));
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

/** The hub, with a modified response. */
function tampering(change: { date?: (now: Date) => Date; body?: (text: string) => string }): Promise<string> {
  return serve((incoming, outgoing) => {
    const { method, url, headers } = incoming;
    const onward = request({ host: '127.0.0.1', port: hubPort(), method, path: url, headers }, (answer) => {
      let text = '';
      answer.on('data', (chunk) => (text += chunk));
      answer.on('end', () => {
        const date = change.date?.(new Date()).toUTCString() ?? answer.headers.date;
        outgoing.writeHead(answer.statusCode ?? 0, { 'content-type': 'application/json', date });
        outgoing.end(change.body?.(text) ?? text);
      });
    });
    incoming.pipe(onward);
  });
}

async function makeKey(tenant: string, scopes: string): Promise<string> {
  const args = ['keys', 'create', '--tenant', tenant, '--name', 'doctor', '--scopes', scopes, '-o', 'json'];
  return (JSON.parse(await runBerth(hub.stateDir, args, hub.settings)) as { api_key: string }).api_key;
}

/** A copy of a kubeconfig with a change. */
function changedKubeconfig(name: string, change: (config: Kubeconfig) => void): string {
  const config = JSON.parse(readFileSync(kubeconfigs.listener, 'utf8')) as Kubeconfig;
  change(config);
  return file(name, JSON.stringify(config));
}
interface Kubeconfig {
  clusters: { cluster: Record<string, string> }[];
  users: { user: { token: string } }[];
}

async function makeNamespaces(): Promise<void> {
  leaving = uniqueName('leaving');
  const namespace = {
    apiVersion: 'v1',
    kind: 'Namespace',
    metadata: { name: leaving, finalizers: ['berth.dev/test'] },
  };
  await kubectlAsAdmin(['create', '-f', '-'], JSON.stringify(namespace));
  await deleteNamespace(leaving);
  full = await createNamespace('full');
  await kubectlAsAdmin(['create', 'quota', 'none', '--hard=count/secrets=0', `--namespace=${full}`]);
  await waitFor(
    'the quota to count',
    async () => (await kubectlAsAdmin(['get', 'quota', '-n', full, '-o', 'jsonpath={..status.hard}'])) !== '',
    { timeoutMs: 30_000 },
  );
}

beforeAll(async () => {
  [hub, bare] = await Promise.all([
    startWholeBerth('doctor', { start: 'api' }),
    startRemoteCluster({ install: false }),
  ]);
  kubeconfigs = await roleKubeconfigs(environment(), hub.stateDir);
  const [listener, reader, stranger] = await Promise.all([
    makeKey('test', 'listeners:run'),
    makeKey('test', 'deployments:read'),
    makeKey('stranger', 'listeners:run'),
  ]);
  keys = { listener, reader, stranger };
  const made = await hub.call<{ id: string }>('POST', '/v2/listeners', {
    compute_id: 'doctor',
    compute_config: { k8s_namespaces: [hub.namespace] },
  });
  const ca = authority();
  const certificates = {
    trusted: ca.issue(['127.0.0.1']),
    expired: ca.issue(['127.0.0.1'], '210101000000Z'),
    otherName: ca.issue(['hub.example.com']),
    unknown: selfSigned(),
  };
  for (const [name, certificate] of Object.entries(certificates)) {
    const front = await startTlsFront(certificate, hubPort());
    fronts.push(front);
    urls[name as keyof typeof urls] = `https://127.0.0.1:${front.port}`;
  }
  silent = new Link(hubPort());
  await silent.start();
  silent.hold();
  [closedPort = 0] = await freePorts(1);
  await makeNamespaces();
  good = {
    BERTH_HUB_URL: urls.trusted,
    BERTH_HUB_CA: file('ca.pem', ca.cert),
    BERTH_LISTENER_ID: made.body.id,
    BERTH_LISTENER_KEY: listener,
    KUBECONFIG: kubeconfigs.listener,
  };
  healthy = await diagnose(version, good);
}, 240_000);
afterAll(async () => {
  await Promise.all([hub?.stop(), bare?.stop(), silent?.stop(), ...fronts.map((front) => front.stop())]);
  for (const server of servers) {
    server.closeAllConnections();
    server.close();
  }
  const released = JSON.stringify({ metadata: { finalizers: null } });
  await kubectlAsAdmin(['patch', 'namespace', leaving, '--type=merge', '-p', released]);
  await deleteNamespace(full);
});

const outcomes = (findings: readonly Finding[]) =>
  Object.fromEntries(findings.map(({ check, outcome }) => [check, outcome]));

describe('a listener that is configured, and has not run yet', () => {
  it('has no failure, and a warning that the rendering is not reported yet', () => {
    const { rendering, ...others } = outcomes(healthy);
    expect(rendering).toBe('warning');
    expect(new Set(Object.values(others))).toEqual(new Set(['ok']));
  });
});

interface Row {
  what: string;
  /** Settings in addition to the good ones; '' counts as unset. */
  settings: () => Settings | Promise<Settings>;
  check: Check;
  outcome: CheckOutcome;
  message: RegExp;
  next: RegExp;
}

const row = (
  what: string,
  settings: Row['settings'],
  check: Check,
  [message, next]: readonly [RegExp, RegExp],
  outcome: CheckOutcome = 'failed',
): Row => ({ what, settings, check, outcome, message, next });

const ROWS: Row[] = [
  row('no hub URL', () => ({ BERTH_HUB_URL: '' }), 'settings', [
    /BERTH_HUB_URL is not set/,
    /URL of the API/,
  ]),
  row('an invalid hub URL', () => ({ BERTH_HUB_URL: 'berth:8080' }), 'settings', [
    /BERTH_HUB_URL: /,
    /--help/,
  ]),
  row('no key', () => ({ BERTH_LISTENER_KEY: '' }), 'settings', [
    /BERTH_LISTENER_KEY is not set/,
    /keys create/,
  ]),
  row('a key copied with a line break', () => ({ BERTH_LISTENER_KEY: `${keys.listener}\n` }), 'settings', [
    /characters that are not valid in a key/,
    /copy the key again/,
  ]),
  row('an invalid listener id', () => ({ BERTH_LISTENER_ID: 'mine' }), 'settings', [
    /BERTH_LISTENER_ID/,
    /--help/,
  ]),
  row('a setting that does not exist', () => ({ BERTH_HUB: 'x' }), 'settings', [
    /BERTH_HUB: this version does not have this setting/,
    /--help/,
  ]),
  row('a missing CA file', () => ({ BERTH_HUB_CA: '/nowhere/ca.pem' }), 'settings', [
    /\/nowhere\/ca.pem cannot be read \(ENOENT\)/,
    /PEM file/,
  ]),
  row('a CA file with other content', () => ({ BERTH_HUB_CA: kubeconfigs.listener }), 'settings', [
    /contains no PEM certificate/,
    /PEM file/,
  ]),

  row('an unknown host name', () => ({ BERTH_HUB_URL: 'https://berth.invalid' }), 'hub_name', [
    /berth.invalid:443 cannot be resolved/,
    /DNS/,
  ]),
  row(
    'a port without a listening process',
    () => ({ BERTH_HUB_URL: `https://127.0.0.1:${closedPort}` }),
    'hub_connection',
    [/ECONNREFUSED/, /firewall/],
  ),
  row(
    'a hub that does not respond',
    () => ({ BERTH_HUB_URL: `http://127.0.0.1:${silent.port}` }),
    'hub_connection',
    [/no response within 10 s/, /firewall/],
  ),
  row('a certificate authority that is not configured', () => ({ BERTH_HUB_CA: '' }), 'hub_tls', [
    /an authority that this listener trusts/,
    /BERTH_HUB_CA/,
  ]),
  row(
    'another certificate authority than the configured one',
    () => ({ BERTH_HUB_URL: urls.unknown }),
    'hub_tls',
    [/an authority that this listener trusts/, /BERTH_HUB_CA/],
  ),
  row('a certificate that has expired', () => ({ BERTH_HUB_URL: urls.expired }), 'hub_tls', [
    /has expired/,
    /renew/,
  ]),
  row('a certificate for another name', () => ({ BERTH_HUB_URL: urls.otherName }), 'hub_tls', [
    /is not valid for 127.0.0.1/,
    /a name in BERTH_HUB_URL that the certificate contains/,
  ]),
  row(
    'https to an http port',
    () => ({ BERTH_HUB_URL: hub.process().url.replace('http:', 'https:') }),
    'hub_tls',
    [/TLS with .* failed/, /uses https/],
  ),
  row(
    'http to an https port',
    () => ({ BERTH_HUB_URL: urls.trusted.replace('https:', 'http:') }),
    'hub_connection',
    [/closes each connection/, /put https:\/\/ into BERTH_HUB_URL/],
  ),
  row('a path with nothing below it', () => ({ BERTH_HUB_URL: `${urls.trusted}/elsewhere` }), 'hub_answer', [
    /not a hub in a version/,
    /in front of \/v2/,
  ]),
  row(
    'a web page',
    async () => ({ BERTH_HUB_URL: await serve((_, response) => void response.end('<html>')) }),
    'hub_answer',
    [/not a hub in a version/, /in front of \/v2/],
  ),
  row(
    'a login page in front of it',
    async () => ({
      BERTH_HUB_URL: await serve((_, response) => void response.writeHead(302, { location: '/login' }).end()),
    }),
    'hub_answer',
    [/redirects to another address/, /login page/],
  ),
  row(
    'a balancer without a hub behind it',
    async () => ({ BERTH_HUB_URL: await serve((_, response) => void response.writeHead(503).end()) }),
    'hub_answer',
    [/is not available \(HTTP 503\)/, /readyz/],
  ),
  row(
    'a clock that is far off',
    async () => ({ BERTH_HUB_URL: await tampering({ date: (now) => new Date(now.getTime() - 600_000) }) }),
    'clock',
    [/(599|60\d) s ahead of the clock of the hub/, /NTP/],
  ),
  row(
    'a clock that is a little off',
    async () => ({ BERTH_HUB_URL: await tampering({ date: (now) => new Date(now.getTime() + 60_000) }) }),
    'clock',
    [/s behind the clock of the hub/, /NTP/],
    'warning',
  ),
  row('a key that the hub does not know', () => ({ BERTH_LISTENER_KEY: 'f'.repeat(64) }), 'key', [
    /does not know the key.*HTTP 401/,
    /keys create/,
  ]),
  row('a key without the scope', () => ({ BERTH_LISTENER_KEY: keys.reader }), 'scope', [
    /HTTP 403/,
    /listeners:run/,
  ]),
  row("another tenant's key", () => ({ BERTH_LISTENER_KEY: keys.stranger }), 'listener', [
    /no listener .* that belongs to this key/,
    /GET \/v2\/listeners/,
  ]),
  row(
    'an id that does not exist',
    () => ({ BERTH_LISTENER_ID: '01900000-0000-7000-8000-00000000dead' }),
    'listener',
    [/no listener 01900000-0000-7000-8000-00000000dead/, /BERTH_LISTENER_ID/],
  ),
  row("the platform's listener with a tenant's key", () => ({ BERTH_LISTENER_ID: '' }), 'listener', [
    /no listener 00000000-0000-7000-8000-000000000001/,
    /BERTH_LISTENER_ID/,
  ]),
  row(
    'a hub of another version',
    async () => ({
      BERTH_HUB_URL: await tampering({ body: (text) => text.replace(`"${version}"`, '"9.1.0"') }),
    }),
    'version',
    [/hub 9.1.0, listener .*are not compatible/, /9.1.0/],
  ),

  row('no cluster', () => ({ KUBECONFIG: '' }), 'kubeconfig', [/neither a kubeconfig nor/, /set KUBECONFIG/]),
  row(
    'a missing kubeconfig, named by the setting of Berth only',
    () => ({ BERTH_KUBECONFIG: '/nowhere/config' }),
    'kubeconfig',
    [/\/nowhere\/config/, /set BERTH_KUBECONFIG/],
  ),
  row('a missing kubeconfig', () => ({ KUBECONFIG: '/nowhere/config' }), 'kubeconfig', [
    /\/nowhere\/config/,
    /set KUBECONFIG/,
  ]),
  row(
    'an API server that cannot be reached',
    () => ({
      KUBECONFIG: changedKubeconfig('unreachable.kubeconfig', ({ clusters }) => {
        for (const { cluster } of clusters) cluster['server'] = `https://127.0.0.1:${closedPort}`;
      }),
    }),
    'cluster_connection',
    [/ECONNREFUSED/, /server and its certificate/],
  ),
  row(
    'an API server with another certificate',
    () => ({
      KUBECONFIG: changedKubeconfig('impostor.kubeconfig', ({ clusters }) => {
        const other = Buffer.from(selfSigned().cert).toString('base64');
        for (const { cluster } of clusters) cluster['certificate-authority-data'] = other;
      }),
    }),
    'cluster_connection',
    [/certificate/, /its certificate in the kubeconfig/],
  ),
  row(
    'an invalid token',
    () => ({
      KUBECONFIG: changedKubeconfig('unknown.kubeconfig', ({ users }) => {
        for (const { user } of users) user.token = 'not-a-token';
      }),
    }),
    'cluster_account',
    [/does not accept the credentials/, /ServiceAccount berth-listener/],
  ),
  row('another account', () => ({ KUBECONFIG: kubeconfigs.operator }), 'rights', [
    /is not allowed to create manageddeployments.berth.dev in all namespaces/,
    /rendered for this installation.*BERTH_NAMESPACES/,
  ]),
  row(
    'rights in cloud mode, of an account without those',
    () => ({ KUBECONFIG: kubeconfigs.operator, BERTH_HOSTING: 'cloud' }),
    'rights',
    [/create namespaces/, /rendered for this installation/],
  ),
  row('a missing namespace', () => ({ BERTH_NAMESPACES: `${hub.namespace},no-such-place` }), 'namespaces', [
    /there is no namespace no-such-place/,
    /kubectl create namespace no-such-place/,
  ]),
  row('a namespace that is being deleted', () => ({ BERTH_NAMESPACES: leaving }), 'namespaces', [
    /is being deleted/,
    /wait until it is deleted/,
  ]),
  row('a namespace that is full', () => ({ BERTH_NAMESPACES: full }), 'namespaces', [
    /no object can be created in full-.*exceeded quota/,
    /quota/,
  ]),
];

const HUB_SIDE = (check: Check) => !/^(kubeconfig|cluster_|custom_resource|rights|namespaces)/.test(check);

/** The findings with some changed settings, in addition to those without a failure. */
async function findingsWith(settings: Settings): Promise<Finding[]> {
  const findings = await diagnose(version, { ...good, ...settings });
  for (const key of Object.values(keys)) expect(JSON.stringify(findings)).not.toContain(key);
  return findings;
}

describe('the doctor', () => {
  it.each(ROWS)('reports $what ($check)', async ({ settings, check, outcome, message, next }) => {
    const findings = await findingsWith(await settings());
    const found = findings.filter((finding) => finding.check === check && finding.outcome === outcome);
    expect(found.length, JSON.stringify(findings)).toBeGreaterThan(0);
    expect(found.map((finding) => finding.message).join()).toMatch(message);
    expect(found.map((finding) => finding.next).join()).toMatch(next);
    // Only this check has failed: checks that depend on it are skipped, and all others are unchanged.
    const others = findings.filter((finding) => finding.check !== check && finding.outcome === 'failed');
    expect(others).toEqual([]);
  });

  it('skips checks that depend on a failure, and still checks the other side', async () => {
    const byCheck = outcomes(await findingsWith({ BERTH_LISTENER_KEY: keys.reader }));
    expect(byCheck).toMatchObject({
      hub_answer: 'ok',
      key: 'ok',
      scope: 'failed',
      listener: 'skipped',
      lease: 'skipped',
    });
    const cluster = Object.entries(byCheck).filter(([check]) => !HUB_SIDE(check as Check));
    expect(cluster.filter(([, outcome]) => outcome !== 'ok').map(([check]) => check)).toEqual(['namespaces']);
  });
});

describe('the custom resource', () => {
  const message = async () => {
    const findings = await findingsWith({
      KUBECONFIG: bare.access.kubeconfigPath,
      BERTH_NAMESPACES: 'default',
    });
    const found = findings.find(({ check }) => check === 'custom_resource');
    return `${found?.outcome}: ${found?.message} ${found?.next ?? ''}`;
  };
  type Fields = { properties: Record<string, Fields & { items?: Fields }>; [more: string]: unknown };
  const applied = async (change: (schema: Fields) => void) => {
    const definition = structuredClone(customResourceDefinition());
    change(definition.spec.versions[0]?.schema.openAPIV3Schema as unknown as Fields);
    const path = file('crd.yaml', stringify(definition));
    await bare.kubectl('apply', '--server-side', '--force-conflicts', '-f', path);
  };
  const until = (what: string, pattern: RegExp) =>
    waitFor(what, async () => pattern.test(await message()), { timeoutMs: 60_000, intervalMs: 500 });

  it('is reported when it is missing, and with its fields when it is older or newer', async () => {
    expect(await message()).toMatch(/failed: the cluster has no .*kubectl apply .*crds/);
    await applied(({ properties }) => {
      delete properties['status']?.properties['dataImages'];
    });
    await until(
      'the older one to be reported',
      /failed: .*older than this program: it lacks status.dataImages .*crds/,
    );
    await applied(({ properties }) => {
      const { properties: spec } = properties['spec'] as Fields;
      spec['fieldOfTomorrow'] = { type: 'string' } as unknown as Fields;
    });
    await until(
      'the newer one to be reported',
      /warning: .*newer than this program: it has spec.fieldOfTomorrow/,
    );
    await applied(() => {});
    await until(
      'the missing tasks to be reported',
      /warning: .*no deploymenttasks.berth.dev.* tasks do not run/,
    );
    await installBerth(bare.access);
    await until('this one to be reported', /ok: .*of this version/);
  });
});

describe('the lease', () => {
  const lease = async (body: object) => {
    const answer = await fetch(`${hub.process().url}/v2/listeners/${good['BERTH_LISTENER_ID']}/lease`, {
      method: 'PUT',
      headers: { 'x-api-key': keys.listener, 'content-type': 'application/json' },
      body: JSON.stringify({
        holder: 'pod-1',
        version,
        cluster_version: 'v1.36.0',
        rendering: null,
        ...body,
      }),
    });
    return (await answer.json()) as { epoch: number };
  };
  const found = async (check: Check) => (await findingsWith({})).find((finding) => finding.check === check);

  it('causes a warning when another process holds it, and is not taken over', async () => {
    const { epoch } = await lease({ epoch: null });
    expect(await found('lease')).toMatchObject({
      outcome: 'warning',
      message: expect.stringContaining(`pod-1 holds it (epoch ${epoch})`),
      next: expect.stringContaining('use a separate listener id for each cluster'),
    });
    expect(await lease({ epoch })).toMatchObject({ epoch });
    await lease({ epoch, release: true });
    expect(await found('lease')).toMatchObject({ outcome: 'ok', message: 'free' });
  });

  it('causes a failure when it belongs to another cluster, but not when another replica holds it', async () => {
    const uid = await kubectlAsAdmin(['get', 'namespace', 'kube-system', '-o', 'jsonpath={.metadata.uid}']);
    const cluster_id = `kube-system/${uid}`;
    const { epoch } = await lease({ epoch: null, cluster_id });
    expect(await found('lease')).toMatchObject({
      outcome: 'ok',
      message: expect.stringContaining('another replica'),
    });
    await lease({ epoch, release: true });
    const forget = () =>
      hub.call('PATCH', `/v2/listeners/${good['BERTH_LISTENER_ID']}`, { cluster_id: null });
    await forget();
    const other = await lease({ epoch: null, cluster_id: 'kube-system/other' });
    await lease({ epoch: other.epoch, release: true });
    expect(await found('lease')).toMatchObject({
      outcome: 'failed',
      message: expect.stringContaining('not to this cluster'),
      next: expect.stringContaining('{"cluster_id": null}'),
    });
    await forget();
  });

  it('shows whether the rendering of its holder equals that of this process, or what differs', async () => {
    const { loadConfig } = await import('../../../../src/config/index.ts');
    const rendering = { ...loadConfig(good).rendering, kubernetesVersion: '1.36' };
    await lease({ epoch: null, rendering });
    expect(await found('rendering')).toMatchObject({ outcome: 'ok' });
    await lease({ epoch: null, rendering: { ...rendering, cacheImage: 'other:1', storageClass: 'fast' } });
    expect(await found('rendering')).toMatchObject({
      outcome: 'warning',
      message: expect.stringMatching(/for (cacheImage, storageClass|storageClass, cacheImage)$/),
    });
  });
});

describe('the command', () => {
  const run = (args: string[], settings: Settings) =>
    new Promise<{ code: number; output: string }>((resolve) => {
      const path = process.env['PATH'] ?? '';
      const command = [join(root, 'src/main.ts'), 'listener', 'doctor', ...args];
      execFile(
        process.execPath,
        command,
        { env: { ...compileCache(), PATH: path, ...settings } },
        (error, stdout, stderr) =>
          resolve({ code: error === null ? 0 : Number(error.code), output: `${stdout}${stderr}` }),
      );
    });

  it('prints one line per finding, and exits with 0 when nothing failed', async () => {
    const { code, output } = await run([], good);
    expect(code, output).toBe(0);
    expect(output).toMatch(/^ok +settings +complete, for listener /m);
    expect(output).toMatch(/^No check failed, \d warnings?\.$/m);
    expect(output).not.toContain(keys.listener);
  });

  it('exits with 1 when a check failed, and prints JSON with -o json', async () => {
    const { code, output } = await run(['-o', 'json'], { ...good, BERTH_LISTENER_KEY: keys.reader });
    expect(code).toBe(1);
    const { ok, findings } = JSON.parse(output) as { ok: boolean; findings: Finding[] };
    expect(ok).toBe(false);
    expect(findings.find(({ check }) => check === 'scope')).toMatchObject({ outcome: 'failed' });
    expect(output).not.toContain(keys.reader);
  });

  it('prints its usage, and rejects unknown arguments', async () => {
    expect((await run(['--help'], {})).output).toContain('Usage: berth listener doctor');
    const refused = await run(['-o', 'text'], good);
    expect([refused.code, refused.output]).toEqual([2, expect.stringContaining('Allowed choices are table')]);
    expect(refused.output).toContain('see berth listener doctor --help');
  });
});
