import { Counter, Histogram, type Registry } from 'prom-client';
import type { ApiObserver } from '../hub/api/observe/observer.ts';
import type { PoolStats } from '../hub/store/core/database.ts';
import type { Fleet } from '../hub/store/deployments/fleet.ts';
import { gaugeOf } from './collect-on-scrape.ts';
import { fleetMetrics } from './fleet.ts';
import { progressMetrics } from './progress.ts';

/** Defines the metrics of the hub. */
export interface HubMetrics {
  readonly observer: ApiObserver;
  /** Registers the metric of the policy file. @param isInvalid whether its last change could not be used */
  policy(isInvalid: () => boolean): void;
  /** Registers the metrics that are read from the database on scrape, and those of the connection pool. */
  database(source: { readonly fleet: () => Promise<Fleet>; readonly pool: () => PoolStats }): void;
}

/** The status code of a request whose client disconnected before the whole response, as in nginx. */
const CLIENT_CLOSED_REQUEST = 499;

const REQUEST_BUCKETS = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30];

type RequestPart = Pick<ApiObserver, 'began' | 'answered'>;

/** Number of requests in flight of a route. */
class InFlight {
  requests = 0;
  readonly over = (): void => {
    this.requests -= 1;
  };
}

function requestMetrics(registry: Registry): RequestPart {
  // The requests are counted here, because a gauge would look up its labels twice per request.
  const inFlight = new Map<string, InFlight>();
  gaugeOf({
    name: 'berth_http_requests_in_flight',
    help: 'Requests in flight by route, including long polls for work and open streams of logs and events.',
    labels: ['route'],
    registry,
    read: () => [...inFlight].map(([route, { requests }]) => ({ labels: { route }, value: requests })),
  });
  const labelNames = ['method', 'route', 'status_code'] as const;
  const seconds = new Histogram({
    name: 'http_request_duration_seconds',
    help:
      'Duration of requests in seconds by method, route template (none: unknown path) and status code. 499: the client ' +
      'disconnected before the whole response. Requests whose responses wait for events are not included.',
    labelNames,
    buckets: REQUEST_BUCKETS,
    registers: [registry],
  });
  const waiting = new Counter({
    name: 'berth_http_waiting_requests_total',
    help:
      'Requests whose responses wait (long polls, and logs and events that are followed), by method, route template ' +
      'and status code. 499: the client disconnected, which is normal for a stream of logs or events.',
    labelNames,
    registers: [registry],
  });
  const ofCluster = new Counter({
    name: 'berth_http_cluster_errors_total',
    help: 'Requests that got a 5xx status code because a cluster, its listener or an issuer of tokens does not respond.',
    registers: [registry],
  });
  return {
    began(route) {
      let counted = inFlight.get(route);
      if (counted === undefined) {
        counted = new InFlight();
        inFlight.set(route, counted);
      }
      counted.requests += 1;
      return counted.over;
    },
    answered({ method, route, status, ofCluster: isOfCluster, waits, seconds: took }) {
      const code = status === 'aborted' ? CLIENT_CLOSED_REQUEST : status;
      const labels = { method, route, status_code: String(code) };
      if (waits) waiting.inc(labels);
      else seconds.observe(labels, took);
      if (isOfCluster) ofCluster.inc();
    },
  };
}

function streamMetrics(registry: Registry): Pick<ApiObserver, 'streaming'> {
  return {
    streaming(count) {
      gaugeOf({
        name: 'berth_change_streams',
        help: 'Open streams of changes (GET /v2/watch) of this process, which serves at most 1000.',
        labels: [],
        registry,
        read: () => [{ labels: {}, value: count() }],
      });
    },
  };
}

type CountingPart = Omit<ApiObserver, 'began' | 'answered' | 'progressed' | 'streaming'>;

function countingMetrics(registry: Registry): CountingPart {
  const counter = <Label extends string>(name: string, help: string, ...labelNames: Label[]) =>
    new Counter({ name, help, labelNames, registers: [registry] });
  const workItems = counter('berth_work_items_total', 'Work items handed to listeners, by kind.', 'kind');
  const reports = counter('berth_reports_total', 'Reports received from listeners, by kind.', 'kind');
  const ignored = counter(
    'berth_reports_ignored_total',
    'Reports without effect: late, repeated, or about an unknown object.',
  );
  const deliveries = counter(
    'berth_webhook_deliveries_total',
    'Webhook deliveries with a valid secret, by outcome: taken, repeated, ignored (not a push).',
    'result',
  );
  const signIns = counter(
    'berth_sign_ins_total',
    'Attempts to sign in, by method (identity_provider, api_key) and result: signed_in, without_role, declined (by the ' +
      'identity provider), stale (too late or repeated), invalid (token or API key), unreachable (the identity provider).',
    'method',
    'result',
  );
  const polls = counter(
    'berth_branch_polls_total',
    'Polls of branches by result: seen, or the cause of the failure.',
    'result',
  );
  const exchanges = counter(
    'berth_workload_exchanges_total',
    'Exchanges of tokens of workloads by result: issued, rejected, unavailable (the keys of the issuer cannot be read).',
    'result',
  );
  const deviceLogins = counter(
    'berth_device_logins_total',
    'Steps of logins that people confirm: started, approved, denied, issued, replayed (a device code was used twice).',
    'step',
  );
  return {
    handedOut: (kind) => workItems.inc({ kind }),
    reported: (kind) => reports.inc({ kind }),
    ignored: () => ignored.inc(),
    delivered: (result) => deliveries.inc({ result }),
    signedIn: (method, result) => signIns.inc({ method, result }),
    polled: (result) => polls.inc({ result }),
    exchanged: (result) => exchanges.inc({ result }),
    deviceLogin: (step) => deviceLogins.inc({ step }),
  };
}

function poolMetrics(registry: Registry): (pool: () => PoolStats) => void {
  let read: () => PoolStats | null = () => null;
  gaugeOf({
    name: 'berth_database_connections',
    help: 'Connections to PostgreSQL of this process by state: busy, idle.',
    labels: ['state'],
    registry,
    read: () => {
      const pool = read();
      if (pool === null) return [];
      const { total, idle } = pool;
      return [
        { labels: { state: 'busy' }, value: total - idle },
        { labels: { state: 'idle' }, value: idle },
      ];
    },
  });
  const single = (name: string, help: string, measure: (pool: PoolStats) => number) =>
    gaugeOf({
      name,
      help,
      labels: [],
      registry,
      read: () => {
        const pool = read();
        return pool === null ? [] : [{ labels: {}, value: measure(pool) }];
      },
    });
  single(
    'berth_database_connections_max',
    'Maximum number of PostgreSQL connections of this process (BERTH_DATABASE_POOL).',
    ({ max }) => max,
  );
  single(
    'berth_database_waiting',
    'Requests that currently wait for a PostgreSQL connection.',
    ({ waiting }) => waiting,
  );
  return (pool) => {
    read = pool;
  };
}

export function hubMetrics(registry: Registry): HubMetrics {
  const setPool = poolMetrics(registry);
  const setFleet = fleetMetrics(registry);
  return {
    observer: {
      ...requestMetrics(registry),
      ...countingMetrics(registry),
      ...streamMetrics(registry),
      progressed: progressMetrics(registry),
    },
    policy(isInvalid) {
      gaugeOf({
        name: 'berth_policy_invalid',
        help: '1: the policy file changed to a content that cannot be used, so that the former roles of people stay in force. Otherwise 0.',
        labels: [],
        registry,
        read: () => [{ labels: {}, value: isInvalid() ? 1 : 0 }],
      });
    },
    database({ fleet, pool }) {
      setPool(pool);
      setFleet(fleet);
    },
  };
}
