/** The content of the Grafana dashboard: its rows, and the queries of their panels. */

type Unit = 's' | 'short' | 'reqps' | 'ops' | 'percentunit' | 'bytes';

interface Query {
  readonly expr: string;
  readonly legend: string;
}

interface Panel {
  readonly title: string;
  readonly unit: Unit;
  readonly queries: readonly Query[];
  /** Shows one number instead of lines. */
  readonly stat?: true;
}

const q = (legend: string, expr: string): Query => ({ legend, expr });
const lines = (title: string, unit: Unit, ...queries: Query[]): Panel => ({ title, unit, queries });
const stat = (title: string, unit: Unit, expr: string): Panel => ({
  title,
  unit,
  queries: [q('', expr)],
  stat: true,
});

const RATE = '[$__rate_interval]';
const rate = (by: string, metric: string) => `sum by (${by}) (rate(${metric}${RATE}))`;
const quantile = (share: number, by: string, metric: string, range = RATE) =>
  `histogram_quantile(${share}, sum by (${['le', by].filter(Boolean).join(', ')}) (rate(${metric}${range})))`;

/** Excludes routes that wait for an event, because their latency is the time until the event. */
const PROMPT = 'waits="false"';

/** Selects the processes of Berth in a metric that programs of other projects export too. */
const OF_BERTH = 'and on (instance) berth_build_info';

/** Every replica of the hub exports the same values for its gauges, so their queries use max. */
export const ROWS: readonly (readonly [title: string, panels: readonly Panel[]])[] = [
  [
    'Service',
    [
      stat('Ready deployments', 'short', 'max(berth_deployments{status="READY"})'),
      stat('Unknown deployments', 'short', 'max(berth_deployments{status="UNKNOWN"})'),
      stat('Oldest work', 's', 'max(berth_work_due_oldest_seconds{owner="platform"})'),
      stat('Operators that lead', 'short', 'sum(berth_leading{role="operator"})'),
      lines('Processes', 'short', q('{{role}} {{version}}', 'sum by (role, version) (berth_build_info)')),
      lines(
        'Requests by status',
        'reqps',
        q('{{status}}', rate('status', 'berth_http_request_duration_seconds_count')),
      ),
      lines(
        'Latency of requests (p50, p99)',
        's',
        q('p50', quantile(0.5, '', `berth_http_request_duration_seconds_bucket{${PROMPT}}`)),
        q('p99', quantile(0.99, '', `berth_http_request_duration_seconds_bucket{${PROMPT}}`)),
      ),
      lines(
        'Slowest routes (p95)',
        's',
        q(
          '{{route}}',
          `topk(8, ${quantile(0.95, 'route', `berth_http_request_duration_seconds_bucket{${PROMPT}}`)})`,
        ),
      ),
      lines(
        'Requests under way',
        'short',
        q('{{route}}', 'topk(8, sum by (route) (berth_http_requests_in_flight))'),
      ),
      lines('Event loop (p99)', 's', q('{{instance}}', `nodejs_eventloop_lag_p99_seconds ${OF_BERTH}`)),
      lines('Memory', 'bytes', q('{{instance}}', `process_resident_memory_bytes ${OF_BERTH}`)),
      lines('CPU', 'short', q('{{instance}}', `rate(process_cpu_seconds_total${RATE}) ${OF_BERTH}`)),
    ],
  ],
  [
    'Rollouts',
    [
      lines(
        'Deployments by status',
        'short',
        q('{{status}}', 'max by (status) (berth_deployments)'),
        q('not reconciled', 'max(berth_deployments_unreconciled)'),
      ),
      lines('Rollouts by result', 'ops', q('{{result}}', rate('result', 'berth_rollouts_total'))),
      lines(
        'Rolled out in the last hour',
        'short',
        q('deployments {{result}}', 'max by (result) (berth_deployments_rolled)'),
        q('tenants {{result}}', 'max by (result) (berth_tenants_rolled)'),
      ),
      lines(
        'Failures by reason',
        'ops',
        q('{{reason}}', rate('reason', 'berth_rollouts_total{result="failed"}')),
      ),
      lines(
        'From a POST to READY',
        's',
        q('p50', quantile(0.5, '', 'berth_deployment_ready_seconds_bucket', '[30m]')),
        q('p90', quantile(0.9, '', 'berth_deployment_ready_seconds_bucket', '[30m]')),
      ),
      lines(
        'From a revision to its end',
        's',
        q('{{result}} p50', quantile(0.5, 'result', 'berth_rollout_duration_seconds_bucket', '[30m]')),
        q('{{result}} p90', quantile(0.9, 'result', 'berth_rollout_duration_seconds_bucket', '[30m]')),
      ),
    ],
  ],
  [
    'Operator',
    [
      lines('Leading', 'short', q('{{role}} {{instance}}', 'berth_leading')),
      lines(
        'Reconciles by outcome',
        'ops',
        q('{{controller}} {{outcome}}', rate('controller, outcome', 'berth_reconciles_total')),
      ),
      lines(
        'Time of a reconcile (p95)',
        's',
        q('{{controller}}', quantile(0.95, 'controller', 'berth_reconcile_duration_seconds_bucket')),
      ),
      lines(
        'Queues',
        'short',
        q('{{controller}} waiting', 'sum by (controller) (berth_queue_depth)'),
        q('{{controller}} at work', 'sum by (controller) (berth_queue_processing)'),
        q('{{controller}} planned', 'sum by (controller) (berth_queue_delayed)'),
        q('{{controller}} failing', 'sum by (controller) (berth_queue_failing)'),
      ),
      lines(
        'Oldest in a queue',
        's',
        q('{{controller}}', 'max by (controller) (berth_queue_oldest_seconds)'),
      ),
      lines('Changes in the cluster', 'ops', q('{{kind}}', rate('kind', 'berth_operator_actions_total'))),
      lines(
        'Calls to the API server',
        'ops',
        q('{{role}} {{verb}} {{code}}', rate('role, verb, code', 'berth_kube_requests_total')),
      ),
      lines(
        'Time of calls (p95)',
        's',
        q('{{role}} {{verb}}', quantile(0.95, 'role, verb', 'berth_kube_request_duration_seconds_bucket')),
      ),
      lines(
        'Watches that broke',
        'ops',
        q(
          '{{role}} {{kind}} {{cause}}',
          rate('role, kind, cause', 'berth_watch_restarts_total{cause!="ended"}'),
        ),
        q('{{role}} {{kind}} lists', rate('role, kind', 'berth_watch_lists_total')),
      ),
      lines(
        'Age of caches',
        's',
        q('{{role}} {{kind}}', 'max by (role, kind) (berth_watch_last_sign_seconds)'),
      ),
      lines(
        'Objects in caches',
        'short',
        q('{{role}} {{kind}}', 'max by (role, kind) (berth_watch_objects)'),
        q('{{role}} {{kind}} failing', 'sum by (role, kind) (berth_watch_failing) > 0'),
      ),
    ],
  ],
  [
    'Listener',
    [
      lines('Listeners', 'short', q('{{owner}} {{status}}', 'max by (owner, status) (berth_listeners)')),
      lines(
        'Left of the lease',
        's',
        q('{{listener}}', 'max by (listener) (berth_listener_lease_seconds)'),
        q('{{listener}} silent', 'min by (listener) (berth_listener_silence_seconds)'),
      ),
      lines(
        'Work that is due',
        'short',
        q('{{owner}}', 'max by (owner) (berth_work_due)'),
        q('{{owner}} oldest (s)', 'max by (owner) (berth_work_due_oldest_seconds)'),
      ),
      lines('Work handed out', 'ops', q('{{kind}}', rate('kind', 'berth_work_items_total'))),
      lines(
        'Reports',
        'ops',
        q('{{kind}}', rate('kind', 'berth_reports_total')),
        q('ignored', `sum(rate(berth_reports_ignored_total${RATE}))`),
      ),
    ],
  ],
  [
    'Database',
    [
      lines(
        'Connections',
        'short',
        q('{{instance}} {{state}}', 'berth_database_connections'),
        q('{{instance}} at most', 'berth_database_connections_max'),
      ),
      lines('Waiting for a connection', 'short', q('{{instance}}', 'berth_database_waiting')),
      lines(
        'Messages to the tracing backend',
        'short',
        q('waiting', 'max(berth_tracing_outbox_pending)'),
        q('oldest (s)', 'max(berth_tracing_outbox_oldest_seconds)'),
        q('{{outcome}} a second', rate('outcome', 'berth_tracing_attempts_total')),
      ),
    ],
  ],
  [
    'Builds',
    [
      lines(
        'Builds by result',
        'ops',
        q('{{result}} {{reason}}', rate('result, reason', 'berth_builds_total')),
      ),
      lines(
        'Time of a build (p50, p90)',
        's',
        q('{{result}} p50', quantile(0.5, 'result', 'berth_build_duration_seconds_bucket', '[1h]')),
        q('{{result}} p90', quantile(0.9, 'result', 'berth_build_duration_seconds_bucket', '[1h]')),
      ),
      lines('Webhooks', 'ops', q('{{result}}', rate('result', 'berth_webhook_deliveries_total'))),
      lines('Polls of branches', 'ops', q('{{result}}', rate('result', 'berth_branch_looks_total'))),
      lines(
        'Branches that wait',
        'short',
        q('branches', 'max(berth_branch_looks_due)'),
        q('oldest (s)', 'max(berth_branch_looks_due_oldest_seconds)'),
      ),
    ],
  ],
];
