import { isIP } from 'node:net';
import { areCompatible } from '../../contract/compatibility.ts';
import { type LeaseState, leaseStateSchema } from '../../contract/lease-protocol.ts';
import type { RenderConfig } from '../../contract/render-config.ts';
import { isAnotherCluster, sameNamespace } from '../../domain/cluster-id.ts';
import { canonicalJson } from '../../domain/hash.ts';
import { type Check, complete, type Finding, failed, ok, warning } from './finding.ts';
import { networkTrouble } from './network-trouble.ts';

/** What one call of the hub, that of the lease's state, tells about the way there, the key and the listener. Pure. */

export type HubLook =
  | { readonly kind: 'error'; readonly code: string; readonly message: string }
  | {
      readonly kind: 'answer';
      readonly status: number;
      readonly body: string;
      /** The hub's clock, to the second; absent: it did not tell. */
      readonly date?: Date | undefined;
      /** This machine's, half way between request and answer. */
      readonly now: Date;
    };

export interface HubContext {
  readonly hubUrl: string;
  readonly listenerId: string;
  /** Of this process. */
  readonly version: string;
  readonly rendering: Omit<RenderConfig, 'kubernetesVersion'>;
  /** Which cluster this is (domain/cluster-id.ts); undefined: it could not be read. */
  readonly clusterId?: string | undefined;
}

const WAY: readonly Check[] = ['hub_name', 'hub_connection', 'hub_tls', 'hub_answer'];
const REST: readonly Check[] = ['clock', 'key', 'scope', 'listener', 'version', 'lease', 'rendering'];
const ALL = [...WAY, ...REST];

/** The Date header has whole seconds, and the way takes its time. */
const NOTED_SKEW_MS = 5_000;
/** Certificates and tokens that were just made are refused from about here. */
const BAD_SKEW_MS = 300_000;

const hostOf = (url: URL) => `${url.hostname}:${url.port || (url.protocol === 'https:' ? '443' : '80')}`;

/** Where others may listen to plain HTTP. */
function isOpenNetwork({ hostname }: URL): boolean {
  const local = hostname === 'localhost' || hostname === '[::1]' || /^127\./.test(hostname);
  return !local && !/\.svc(\.|$)/.test(hostname);
}

function way(url: URL, reached: Check | null): Finding[] {
  const host = hostOf(url);
  const name =
    isIP(url.hostname) === 0
      ? `${url.hostname} is resolved`
      : `${url.hostname} is an address: no name is asked for`;
  const tls =
    url.protocol === 'https:'
      ? ok('hub_tls', 'the certificate is valid, and for this name')
      : isOpenNetwork(url)
        ? warning(
            'hub_tls',
            'the hub is called with http: others on the way can read the key and the secrets of deployments',
            'put TLS in front of the hub, and https:// into BERTH_HUB_URL',
          )
        : ok('hub_tls', 'not used: the hub is near, and called with http');
  const all = [
    ok('hub_name', name),
    ok('hub_connection', `${host} takes connections`),
    tls,
    ok('hub_answer', `${url.origin}${url.pathname.replace(/\/$/, '')} is a hub`),
  ];
  return reached === null ? all : all.slice(0, WAY.indexOf(reached));
}

function clock(date: Date | undefined, now: Date): Finding {
  if (date === undefined) return ok('clock', 'the hub does not tell its time');
  const skew = now.getTime() - date.getTime();
  const size = Math.round(Math.abs(skew) / 1000);
  const message = `this machine's clock is ${size} s ${skew > 0 ? 'ahead of' : 'behind'} the hub's`;
  const next = 'let both machines take their time from the same source (NTP)';
  if (Math.abs(skew) >= BAD_SKEW_MS) return failed('clock', message, next);
  if (Math.abs(skew) >= NOTED_SKEW_MS) return warning('clock', message, next);
  return ok('clock', 'runs with the hub’s, within 5 s');
}

function parsed(body: string): unknown {
  try {
    return JSON.parse(body);
  } catch {
    return null;
  }
}

/** Of whatever answers, which may be no hub. */
const MAX_SENTENCE = 300;

function sentence(body: string): string {
  const detail = (parsed(body) as { detail?: unknown } | null)?.detail;
  return typeof detail === 'string' ? detail.slice(0, MAX_SENTENCE) : '';
}

const NO_SUCH_LISTENER = 'There is no such listener.';

/** What an answer that is no success says: the check that failed with it. */
function refusal({ hubUrl, listenerId }: HubContext, status: number, detail: string): Finding {
  const said = detail === '' ? `HTTP ${status}` : `HTTP ${status}: ${detail}`;
  if (status === 401 && detail !== '') {
    return failed(
      'key',
      `the hub does not know the key of BERTH_LISTENER_KEY (${said})`,
      'make one at the hub: berth keys create --tenant NAME --name listener --scopes listeners:run (--platform instead of --tenant for the platform’s own listener), and put it into BERTH_LISTENER_KEY',
    );
  }
  if (status === 403 && detail !== '') {
    return failed(
      'scope',
      `the key may not run a listener (${said})`,
      'make a key with the scope listeners:run: berth keys create --tenant NAME --name listener --scopes listeners:run',
    );
  }
  if (status === 404 && detail === NO_SUCH_LISTENER) {
    return failed(
      'listener',
      `there is no listener ${listenerId} that belongs to this key (${said})`,
      'set BERTH_LISTENER_ID to an id of GET /v2/listeners, and use a key of the tenant that the listener belongs to; POST /v2/listeners makes one',
    );
  }
  if (status >= 300 && status < 400) {
    return failed(
      'hub_answer',
      `${hubUrl} redirects elsewhere (${said}); a listener does not follow, lest its key goes astray`,
      'set BERTH_HUB_URL to the address that is redirected to, or let the listener pass the login page in front of the hub',
    );
  }
  if (status === 400 && hubUrl.startsWith('http:')) {
    return failed(
      'hub_answer',
      `what answers does not take the call (${said})`,
      'the port seems to speak https: put https:// into BERTH_HUB_URL',
    );
  }
  if (status === 429 || status >= 500) {
    return failed(
      'hub_answer',
      `the hub, or what stands before it, cannot answer now (${said})`,
      'try again; if it stays so, look at the log of the hub and at its GET /readyz',
    );
  }
  return failed(
    'hub_answer',
    `what answers is no hub of a version that this listener knows (${said})`,
    'check BERTH_HUB_URL: it is the address in front of /v2; and that the hub is not older than the listener',
  );
}

/** Checks that a refusal at `check` has passed, with what is said of them then. */
function passed({ listenerId }: HubContext, until: Check): Finding[] {
  const all = [
    ok('key', 'the hub knows it'),
    ok('scope', 'the key may run a listener'),
    ok('listener', `${listenerId} belongs to the key`),
  ];
  return all.slice(0, Math.max(0, ['key', 'scope', 'listener', 'version'].indexOf(until)));
}

function version(context: HubContext, hub: string): Finding {
  const both = `hub ${hub}, listener ${context.version}`;
  if (areCompatible(hub, context.version)) return ok('version', both);
  return failed(
    'version',
    `${both}: they do not work together`,
    `run listener and operator of the hub's version, ${hub}, here`,
  );
}

/**
 * Whose the lease is.
 * @param cluster which cluster this is (domain/cluster-id.ts); undefined: it could not be read
 */
function leaseFinding(
  { holder, held, epoch, cluster_id: bound }: LeaseState,
  cluster: string | undefined,
): Finding {
  const known = bound !== null && cluster !== undefined && sameNamespace(bound, cluster);
  if (known && isAnotherCluster(bound, cluster)) {
    return failed(
      'lease',
      `the listener belongs to another cluster (${bound}) than this one (${cluster}): the hub refuses its lease here`,
      'give this cluster a listener id of its own (POST /v2/listeners, BERTH_LISTENER_ID); or, if it takes the place of the other one, PATCH /v2/listeners/{id} with {"cluster_id": null}',
    );
  }
  if (!held) return ok('lease', epoch === 0 ? 'free: nobody has held it yet' : 'free');
  const holds = `${holder} holds it (epoch ${epoch})`;
  if (known) return ok('lease', `${holds}: another replica of this cluster’s listener acts`);
  return warning(
    'lease',
    `${holds}: whether for this cluster cannot be told`,
    'let the account of the listener read the namespace kube-system (docs/remote-listener.md); if the holder is one of another cluster, give each cluster a listener id of its own',
  );
}

function rendering(context: HubContext, reported: RenderConfig | null): Finding {
  if (reported === null) {
    return warning(
      'rendering',
      'the hub has not been told yet how this cluster renders workloads: a dry run shows no manifests, and what the cluster is too old for is not refused',
      'start the listener: it tells with the lease',
    );
  }
  const { kubernetesVersion: _, ...told } = reported;
  const own: Record<string, unknown> = context.rendering;
  const differing = Object.entries(told)
    .filter(([name, value]) => canonicalJson(value) !== canonicalJson(own[name]))
    .map(([name]) => name);
  if (differing.length === 0) return ok('rendering', 'as this process would');
  return warning(
    'rendering',
    `the listener that runs reports another ${differing.join(', ')} than this process would`,
    'give listener, operator and doctor the same settings',
  );
}

/** The findings of the hub's side, and what the hub says of the lease where it did. */
export function hubFindings(
  look: HubLook,
  context: HubContext,
): { findings: Finding[]; lease: LeaseState | null } {
  const url = new URL(context.hubUrl);
  if (look.kind === 'error') {
    const trouble = networkTrouble(hostOf(url), url.protocol === 'http:', look.code, look.message);
    return { findings: complete([...way(url, trouble.check), trouble], ALL), lease: null };
  }
  const state = look.status === 200 ? leaseStateSchema.safeParse(parsed(look.body)).data : undefined;
  const time = clock(look.date, look.now);
  if (state === undefined) {
    const trouble = refusal(
      { ...context, hubUrl: `${url.origin}${url.pathname}` },
      look.status,
      sentence(look.body),
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
