import { isIP } from 'node:net';
import { areCompatible } from '../../../contract/crd/compatibility.ts';
import { type LeaseState, leaseStateSchema } from '../../../contract/protocol/lease-protocol.ts';
import type { RenderConfig } from '../../../contract/render/render-config.ts';
import { canonicalJson } from '../../../domain/core/hash.ts';
import { isAnotherCluster, sameNamespace } from '../../../domain/deployment/cluster-id.ts';
import { type Check, complete, type Finding, failed, ok, warning } from './finding.ts';
import { networkTrouble } from './network-trouble.ts';

/**
 * Findings from one call of the hub for the state of the lease: about the connection, the key and the listener. Pure.
 */

export type HubProbeResult =
  | { readonly kind: 'error'; readonly code: string; readonly message: string }
  | {
      readonly kind: 'answer';
      readonly status: number;
      readonly body: string;
      /** The clock of the hub, in seconds; absent: the response had no date. */
      readonly date?: Date | undefined;
      /** The clock of this machine, in the middle between request and response. */
      readonly now: Date;
    };

export interface HubContext {
  readonly hubUrl: string;
  readonly listenerId: string;
  /** Version of this process. */
  readonly version: string;
  readonly rendering: Omit<RenderConfig, 'kubernetesVersion'>;
  /** Id of this cluster (domain/deployment/cluster-id.ts); undefined: it could not be read. */
  readonly clusterId?: string | undefined;
}

const WAY: readonly Check[] = ['hub_name', 'hub_connection', 'hub_tls', 'hub_answer'];
const REST: readonly Check[] = ['clock', 'key', 'scope', 'listener', 'version', 'lease', 'rendering'];
const ALL = [...WAY, ...REST];

/** The Date header has whole seconds, and the response takes some time. */
const NOTED_SKEW_MS = 5_000;
/** Clock skew in seconds from which new certificates and tokens are rejected. */
const BAD_SKEW_MS = 300_000;

const hostOf = (url: URL) => `${url.hostname}:${url.port || (url.protocol === 'https:' ? '443' : '80')}`;

/** Whether others on the network could read plain HTTP. */
function isOpenNetwork({ hostname }: URL): boolean {
  const local = hostname === 'localhost' || hostname === '[::1]' || /^127\./.test(hostname);
  return !local && !/\.svc(\.|$)/.test(hostname);
}

function way(url: URL, reached: Check | null): Finding[] {
  const host = hostOf(url);
  const name =
    isIP(url.hostname) === 0
      ? `${url.hostname} is resolved`
      : `${url.hostname} is an address and needs no DNS`;
  const tls =
    url.protocol === 'https:'
      ? ok('hub_tls', 'the certificate is valid for this name')
      : isOpenNetwork(url)
        ? warning(
            'hub_tls',
            'BERTH_HUB_URL uses http: others on the network can read the key and the secrets of deployments',
            'configure TLS for the hub, and put https:// into BERTH_HUB_URL',
          )
        : ok('hub_tls', 'not used: the hub is local, and BERTH_HUB_URL uses http');
  const all = [
    ok('hub_name', name),
    ok('hub_connection', `${host} accepts connections`),
    tls,
    ok('hub_answer', `${url.origin}${url.pathname.replace(/\/$/, '')} is a hub`),
  ];
  return reached === null ? all : all.slice(0, WAY.indexOf(reached));
}

function clock(date: Date | undefined, now: Date): Finding {
  if (date === undefined) return ok('clock', 'the hub does not report its time');
  const skew = now.getTime() - date.getTime();
  const size = Math.round(Math.abs(skew) / 1000);
  const message = `the clock of this machine is ${size} s ${skew > 0 ? 'ahead of' : 'behind'} the clock of the hub`;
  const next = 'synchronize the clocks of both machines (NTP)';
  if (Math.abs(skew) >= BAD_SKEW_MS) return failed('clock', message, next);
  if (Math.abs(skew) >= NOTED_SKEW_MS) return warning('clock', message, next);
  return ok('clock', 'differs from the clock of the hub by less than 5 s');
}

function parsed(body: string): unknown {
  try {
    return JSON.parse(body);
  } catch {
    return null;
  }
}

/** The response may come from a server that is not a hub. */
const MAX_SENTENCE = 300;

function sentence(body: string): string {
  const detail = (parsed(body) as { detail?: unknown } | null)?.detail;
  return typeof detail === 'string' ? detail.slice(0, MAX_SENTENCE) : '';
}

const NO_SUCH_LISTENER = 'The listener does not exist.';

/** The failed check that an error response indicates. */
function refusal({ hubUrl, listenerId }: HubContext, status: number, detail: string): Finding {
  const said = detail === '' ? `HTTP ${status}` : `HTTP ${status}: ${detail}`;
  if (status === 401 && detail !== '') {
    return failed(
      'key',
      `the hub does not know the key of BERTH_LISTENER_KEY (${said})`,
      'create a key at the hub: berth keys create --tenant NAME --name listener --scopes listeners:run (--platform instead of --tenant for the platform’s own listener), and set BERTH_LISTENER_KEY to it',
    );
  }
  if (status === 403 && detail !== '') {
    return failed(
      'scope',
      `the key is not allowed to run a listener (${said})`,
      'create a key with the scope listeners:run: berth keys create --tenant NAME --name listener --scopes listeners:run',
    );
  }
  if (status === 404 && detail === NO_SUCH_LISTENER) {
    return failed(
      'listener',
      `there is no listener ${listenerId} that belongs to this key (${said})`,
      'set BERTH_LISTENER_ID to an id of GET /v2/listeners, and use a key of the tenant of that listener; POST /v2/listeners creates a listener',
    );
  }
  if (status >= 300 && status < 400) {
    return failed(
      'hub_answer',
      `${hubUrl} redirects to another address (${said}); a listener does not follow redirects, to protect its key`,
      'set BERTH_HUB_URL to the target of the redirect, or exempt the listener from the login page in front of the hub',
    );
  }
  if (status === 400 && hubUrl.startsWith('http:')) {
    return failed(
      'hub_answer',
      `the server rejects the call (${said})`,
      'the port seems to use https: put https:// into BERTH_HUB_URL',
    );
  }
  if (status === 429 || status >= 500) {
    return failed(
      'hub_answer',
      `the hub, or a proxy in front of it, is not available (${said})`,
      'try again; if the problem persists, check the log of the hub and its GET /readyz',
    );
  }
  return failed(
    'hub_answer',
    `the server is not a hub in a version that this listener supports (${said})`,
    'check that BERTH_HUB_URL is the address in front of /v2, and that the hub is not older than the listener',
  );
}

/** Findings of the checks that passed before the failed check. */
function passed({ listenerId }: HubContext, until: Check): Finding[] {
  const all = [
    ok('key', 'the hub accepts the key'),
    ok('scope', 'the key is allowed to run a listener'),
    ok('listener', `${listenerId} belongs to the key`),
  ];
  return all.slice(0, Math.max(0, ['key', 'scope', 'listener', 'version'].indexOf(until)));
}

function version(context: HubContext, hub: string): Finding {
  const both = `hub ${hub}, listener ${context.version}`;
  if (areCompatible(hub, context.version)) return ok('version', both);
  return failed(
    'version',
    `${both}: these versions are not compatible`,
    `run listener and operator in the version of the hub, ${hub}`,
  );
}

/**
 * Findings about the lease holder.
 * @param cluster id of this cluster (domain/deployment/cluster-id.ts); undefined: it could not be read
 */
function leaseFinding(
  { holder, held, epoch, cluster_id: bound }: LeaseState,
  cluster: string | undefined,
): Finding {
  const known = bound !== null && cluster !== undefined && sameNamespace(bound, cluster);
  if (known && isAnotherCluster(bound, cluster)) {
    return failed(
      'lease',
      `the listener belongs to the cluster ${bound}, not to this cluster (${cluster}), so the hub rejects its lease ` +
        `in this cluster`,
      'create a listener for this cluster (POST /v2/listeners) and set BERTH_LISTENER_ID to its id; or, if this ' +
        'cluster replaces the other cluster, PATCH /v2/listeners/{id} with {"cluster_id": null}',
    );
  }
  if (!held) return ok('lease', epoch === 0 ? 'free: no listener has held it yet' : 'free');
  const holds = `${holder} holds it (epoch ${epoch})`;
  if (known) return ok('lease', `${holds}: another replica of the listener of this cluster is active`);
  return warning(
    'lease',
    `${holds}: it is not known whether it runs in this cluster`,
    'allow the account of the listener to read the namespace kube-system (docs/remote-listener.md); if the holder ' +
      'runs in another cluster, use a separate listener id for each cluster',
  );
}

function rendering(context: HubContext, reported: RenderConfig | null): Finding {
  if (reported === null) {
    return warning(
      'rendering',
      'the listener has not reported the rendering settings of this cluster yet: a dry run shows no manifests, and the API does not reject features that the cluster is too old for',
      'start the listener: it reports the settings with the lease',
    );
  }
  const { kubernetesVersion: _, ...settings } = reported;
  const own: Record<string, unknown> = context.rendering;
  const differing = Object.entries(settings)
    .filter(([name, value]) => canonicalJson(value) !== canonicalJson(own[name]))
    .map(([name]) => name);
  if (differing.length === 0) return ok('rendering', 'equal to the settings of this process');
  return warning(
    'rendering',
    `the running listener reports other values than this process for ${differing.join(', ')}`,
    'give listener, operator and doctor the same settings',
  );
}

/** The findings of the hub, and the lease if the hub returned it. */
export function hubFindings(
  probe: HubProbeResult,
  context: HubContext,
): { findings: Finding[]; lease: LeaseState | null } {
  const url = new URL(context.hubUrl);
  if (probe.kind === 'error') {
    const trouble = networkTrouble(hostOf(url), url.protocol === 'http:', probe.code, probe.message);
    return { findings: complete([...way(url, trouble.check), trouble], ALL), lease: null };
  }
  const state = probe.status === 200 ? leaseStateSchema.safeParse(parsed(probe.body)).data : undefined;
  const time = clock(probe.date, probe.now);
  if (state === undefined) {
    const trouble = refusal(
      { ...context, hubUrl: `${url.origin}${url.pathname}` },
      probe.status,
      sentence(probe.body),
    );
    const atAnswer = trouble.check === 'hub_answer';
    const before = atAnswer
      ? way(url, 'hub_answer')
      : [...way(url, null), time, ...passed(context, trouble.check)];
    return { findings: complete([...before, trouble], ALL), lease: null };
  }
  const found = [
    ...way(url, null),
    time,
    ...passed(context, 'version'),
    version(context, state.hub_version),
    leaseFinding(state, context.clusterId),
    rendering(context, state.rendering),
  ];
  return { findings: complete(found, ALL), lease: state };
}
