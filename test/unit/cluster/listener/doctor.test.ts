import { describe, expect, it, test } from 'vitest';
import { KubeError } from '../../../../src/cluster/kube/client/errors.ts';
import { describeRight } from '../../../../src/cluster/kube/client/rights.ts';
import {
  type ClusterContext,
  clusterFindings,
} from '../../../../src/cluster/listener/doctor/cluster-findings.ts';
import {
  CHECKS,
  type Check,
  complete,
  failed,
  ok,
  warning,
} from '../../../../src/cluster/listener/doctor/finding.ts';
import { type HubProbeResult, hubFindings } from '../../../../src/cluster/listener/doctor/hub-findings.ts';
import { networkTrouble } from '../../../../src/cluster/listener/doctor/network-trouble.ts';
import { asText, isHealthy, report } from '../../../../src/cluster/listener/doctor/report.ts';
import {
  listenerBuildRights,
  listenerLeaseRights,
  namespaceRights,
  workRights,
} from '../../../../src/cluster/listener/rights.ts';
import { loadConfig } from '../../../../src/config/index.ts';
import type { LeaseState } from '../../../../src/contract/protocol/lease-protocol.ts';
import { grantedRights } from '../../../installation/install.ts';

const NOW = new Date('2026-01-01T12:00:00Z');
const { rendering } = loadConfig({});
const STATE: LeaseState = {
  hub_version: '0.1.7',
  epoch: 3,
  holder: null,
  held: false,
  namespaces: ['team'],
  used_namespaces: [],
  rendering: { ...rendering, kubernetesVersion: '1.36' },
  cluster_id: null,
};

const context = (hubUrl = 'https://hub.example.com') => ({
  hubUrl,
  listenerId: 'l-1',
  version: '0.1.0',
  rendering,
});
const answer = (status: number, body: unknown, date: Date | undefined = NOW): HubProbeResult => ({
  kind: 'answer',
  status,
  body: JSON.stringify(body),
  date,
  now: NOW,
});
const findingsOf = (found: HubProbeResult, hubUrl?: string) => hubFindings(found, context(hubUrl)).findings;
const at = (findings: ReturnType<typeof findingsOf>, check: Check) =>
  findings.find((finding) => finding.check === check);

describe('the findings of the hub', () => {
  it('are all ok when nothing is wrong', () => {
    const findings = findingsOf(answer(200, STATE));
    expect(new Set(findings.map(({ outcome }) => outcome))).toEqual(new Set(['ok']));
    expect(hubFindings(answer(200, STATE), context()).lease).toEqual(STATE);
  });

  test.each([
    ['https://hub.example.com', 'ok'],
    ['http://hub.example.com', 'warning'],
    ['http://10.1.2.3:8080', 'warning'],
    ['http://127.0.0.1:8080', 'ok'],
    ['http://localhost:8080', 'ok'],
    ['http://berth-api.berth-system.svc', 'ok'],
    ['http://berth-api.berth-system.svc.cluster.local', 'ok'],
    ['http://a.svcs.example.com', 'warning'],
  ])('rate the TLS of %s as %s', (hubUrl, outcome) => {
    expect(at(findingsOf(answer(200, STATE), hubUrl), 'hub_tls')?.outcome).toBe(outcome);
  });

  test.each([
    [0, 'ok'],
    [4_000, 'ok'],
    [-20_000, 'warning'],
    [299_000, 'warning'],
    [300_000, 'failed'],
    [-400_000, 'failed'],
  ])('rate a clock difference of %i ms as %s', (skew, outcome) => {
    const findings = findingsOf(answer(200, STATE, new Date(NOW.getTime() - skew)));
    expect(at(findings, 'clock')?.outcome).toBe(outcome);
  });

  it('include the clock even after a rejected key', () => {
    const findings = findingsOf(
      answer(401, { detail: 'The API key is not valid.' }, new Date(NOW.getTime() - 30_000)),
    );
    expect(at(findings, 'clock')?.outcome).toBe('warning');
    expect(at(findings, 'key')?.outcome).toBe('failed');
  });

  it('do not fail for a hub without a Date header', () => {
    const findings = findingsOf({ kind: 'answer', status: 200, body: JSON.stringify(STATE), now: NOW });
    expect(at(findings, 'clock')).toMatchObject({
      outcome: 'ok',
      message: 'the hub does not report its time',
    });
  });

  it('do not blame the key for a 401, 403 or 404 that does not come from a hub', () => {
    for (const status of [401, 403, 404]) {
      const findings = findingsOf({ kind: 'answer', status, body: '<html>', now: NOW });
      expect(at(findings, 'hub_answer')?.outcome).toBe('failed');
      expect(at(findings, 'key')?.outcome).toBe('skipped');
    }
  });
});

describe('the finding for a missing response', () => {
  test.each([
    ['ENOTFOUND', 'hub_name'],
    ['EAI_AGAIN', 'hub_name'],
    ['ECONNREFUSED', 'hub_connection'],
    ['ETIMEDOUT', 'hub_connection'],
    ['EHOSTUNREACH', 'hub_connection'],
    ['ECONNRESET', 'hub_connection'],
    ['', 'hub_connection'],
    ['CERT_HAS_EXPIRED', 'hub_tls'],
    ['CERT_NOT_YET_VALID', 'hub_tls'],
    ['SELF_SIGNED_CERT_IN_CHAIN', 'hub_tls'],
    ['CERT_SIGNATURE_FAILURE', 'hub_tls'],
    ['UNABLE_TO_VERIFY_LEAF_SIGNATURE', 'hub_tls'],
    ['ERR_TLS_CERT_ALTNAME_INVALID', 'hub_tls'],
    ['ERR_SSL_WRONG_VERSION_NUMBER', 'hub_tls'],
    ['EPROTO', 'hub_tls'],
    ['HPE_INVALID_CONSTANT', 'hub_answer'],
  ])('is, for the error code "%s", a failure of the check %s', (code, check) => {
    const finding = networkTrouble('hub:443', false, code, 'in other words');
    expect(finding).toMatchObject({ check, outcome: 'failed', next: expect.stringMatching(/\w/) });
    expect(finding.message).toContain('hub:443');
    expect(finding.message).toContain('in other words');
  });

  it('suggests https when the port hangs up on http or answers it with 400', () => {
    const next = 'the port seems to use https: put https:// into BERTH_HUB_URL';
    expect(networkTrouble('hub:443', true, 'ECONNRESET', 'socket hang up')).toMatchObject({ next });
    expect(networkTrouble('hub:443', false, 'ECONNRESET', '').next).not.toBe(next);
    const answered = findingsOf({ ...answer(400, ''), body: '<html>' } as HubProbeResult, 'http://hub:443');
    expect(at(answered, 'hub_answer')).toMatchObject({ outcome: 'failed', next });
  });

  it('contains only the first line of the details', () => {
    const { message } = networkTrouble('hub:443', false, 'EPROTO', 'wrong version\n:../deps/openssl:\n');
    expect(message).toMatch(/EPROTO: wrong version\)$/);
  });

  it('distinguishes expired, unknown and wrongly named certificates', () => {
    const codes = ['CERT_HAS_EXPIRED', 'SELF_SIGNED_CERT_IN_CHAIN', 'ERR_TLS_CERT_ALTNAME_INVALID'];
    const texts = codes.map((code) => networkTrouble('hub:443', false, code, ''));
    expect(new Set(texts.map(({ next }) => next)).size).toBe(3);
  });
});

describe('the findings of the cluster', () => {
  const client = (over: Partial<ClusterContext['client']>): ClusterContext['client'] => ({
    serverVersion: async () => ({ major: '1', minor: '36', gitVersion: 'v1.36.0' }),
    request: async () => ({ status: 200, body: { status: { allowed: true } } }),
    create: async (object) => object,
    ...over,
  });
  const find = (over: Partial<ClusterContext['client']>, more: Partial<ClusterContext> = {}) =>
    clusterFindings(
      {
        client: client(over),
        hosting: 'self_hosted',
        namespaces: [],
        ownNamespace: 'berth-system',
        registered: ['team'],
        ...more,
      },
      new AbortController().signal,
    );
  const outcomeOf = async (check: Check, findings: ReturnType<typeof find>) =>
    (await findings).find((finding) => finding.check === check)?.outcome;

  test.each([
    ['1', '29', 'failed'],
    ['1', '30+', 'ok'],
    ['2', '0', 'ok'],
  ])('rate Kubernetes %s.%s as %s', async (major, minor, outcome) => {
    const serverVersion = async () => ({ major, minor, gitVersion: `v${major}.${minor}` });
    expect(await outcomeOf('cluster_version', find({ serverVersion }))).toBe(outcome);
  });

  it('warn when the hub names no namespaces, or when a namespace in use is not served', async () => {
    expect(await outcomeOf('namespaces', find({}, { registered: null }))).toBe('warning');
    expect(await outcomeOf('namespaces', find({}, { registered: null, namespaces: ['own'] }))).toBe('ok');
    expect(await outcomeOf('namespaces', find({}, { registered: [] }))).toBe('ok');
    const used = [{ namespace: 'former', deployments: 2 }];
    expect(await outcomeOf('namespaces', find({}, { used }))).toBe('warning');
    expect(await outcomeOf('namespaces', find({}, { used, namespaces: ['former'] }))).toBe('ok');
  });

  it('require no namespace in cloud mode', async () => {
    const create = async () => {
      throw new KubeError({ kind: 'not_found', message: 'there is none' });
    };
    expect(await outcomeOf('namespaces', find({ create }, { hosting: 'cloud' }))).toBe('ok');
    expect(await outcomeOf('namespaces', find({ create }))).toBe('failed');
  });

  it('report the check at which the API server became unreachable, without an exception', async () => {
    const gone = async () => {
      throw new KubeError({ kind: 'network', message: 'failed to call: gone' });
    };
    const findings = await find({ request: gone, create: gone });
    expect(findings.filter(({ outcome }) => outcome === 'failed').map(({ check }) => check)).toEqual([
      'custom_resource',
      'rights',
      'namespaces',
    ]);
  });
});

describe('the rights that are checked', () => {
  const granted = (profile: string, kind: 'Role' | 'ClusterRole') =>
    grantedRights(profile, kind, 'berth-listener').sort();

  it('are those that the manifests grant', () => {
    const inCloud = [...workRights(), ...namespaceRights('cloud')].map(describeRight);
    expect(granted('cloud', 'ClusterRole')).toEqual(inCloud.sort());
    expect(namespaceRights('self_hosted')).toEqual([]);
    // In addition to the rights for work: the uid of a namespace identifies the cluster.
    const inOthers = [...workRights().map(describeRight), 'get namespaces'].sort();
    for (const profile of ['ha', 'single', 'remote-listener']) {
      expect(granted(profile, 'ClusterRole')).toEqual(inOthers);
    }
    expect(granted('namespaced', 'Role')).toEqual(inOthers);
    expect(granted('namespaced', 'ClusterRole')).toEqual([]);
  });

  it.each(['cloud', 'ha', 'single', 'remote-listener', 'namespaced'])(
    'include for the lease probe exactly those that the profile %s grants in Berth’s own namespace',
    (profile) => {
      const lease = grantedRights(profile, 'Role', 'berth-listener-lease');
      expect(lease).toEqual(listenerLeaseRights().map(describeRight));
    },
  );

  it('in the build namespace are exactly those that manifests/ grants', () => {
    const builds = grantedRights('cloud', 'Role', 'berth-listener-builds');
    expect(builds.sort()).toEqual(listenerBuildRights().map(describeRight).sort());
  });
});

describe('the report', () => {
  const findings = complete([
    ok('settings', 'complete'),
    warning('lease', 'pod-1 holds it', 'nothing'),
    failed('key', 'not known', 'make one'),
  ]);

  it('has a finding for each check in order, and skips checks that depend on a failure', () => {
    expect(findings.map(({ check }) => check)).toEqual(Object.keys(CHECKS));
    expect(findings.find(({ check }) => check === 'scope')).toMatchObject({
      outcome: 'skipped',
      message: 'not checked: fix listener key first',
    });
  });

  it('has one line per finding with its remedy as text, and a summary', () => {
    const lines = asText(findings).split('\n');
    expect(lines).toContainEqual(expect.stringMatching(/^FAILED {3}listener key +not known$/));
    expect(lines).toContainEqual(expect.stringMatching(/^ +next: make one$/));
    expect(lines.at(-1)).toMatch(/^1 failed, 1 warning, \d+ not checked\.$/);
    expect(asText([ok('settings', 'complete')])).toMatch(/No check failed, 0 warnings\.$/);
  });

  it('is machine-readable as JSON', () => {
    expect(report(findings)).toEqual({ ok: false, findings });
    expect(isHealthy([warning('lease', 'held', 'nothing')])).toBe(true);
  });
});
