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

/** Selects the processes of Berth in metrics with standard names, which other programs export too. */
const OF_BERTH = 'and on (cluster, instance) berth_build_info';
/** Whether only Berth exports metrics with this name. */
const isOwn = (metric: string) => /^(berth_|leader_election_master_status\{name="berth-)/.test(metric);
const ofBerth = (metric: string, expression: string) =>
  isOwn(metric) ? expression : `${expression} ${OF_BERTH}`;
const rate = (by: string, metric: string) => `sum by (${by}) (${ofBerth(metric, `rate(${metric}${RATE})`)})`;
const quantile = (share: number, by: string, metric: string, range = RATE) =>
  `histogram_quantile(${share}, sum by (${['le', by].filter(Boolean).join(', ')}) (${ofBerth(metric, `rate(${metric}${range})`)}))`;

/** Every replica of the hub exports the same values for its gauges, so their queries use max. */
export const ROWS: readonly (readonly [title: string, panels: readonly Panel[]])[] = [
  [
    'Service',
    [
      stat('Ready deployments', 'short', 'max(berth_deployments{status="READY"})'),
      stat('Unknown deployments', 'short', 'max(berth_deployments{status="UNKNOWN"})'),
      stat(
        'Oldest work',
        's',
        'time() - min(berth_work_due_oldest_timestamp_seconds{owner="platform"}) or on () vector(0)',
      ),
      stat('Operators that lead', 'short', 'sum(leader_election_master_status{name="berth-operator"})'),
      lines('Processes', 'short', q('{{role}} {{version}}', 'sum by (role, version) (berth_build_info)')),
      lines(
        'Requests by status',
        'reqps',
        q('{{status_code}}', rate('status_code', 'http_request_duration_seconds_count')),
        q('{{status_code}} (waiting routes)', rate('status_code', 'berth_http_waiting_requests_total')),
        q('5xx because of a cluster', `sum(rate(berth_http_cluster_errors_total${RATE}))`),
      ),
      lines(
        'Latency of requests (p50, p99)',
        's',
        q('p50', quantile(0.5, '', 'http_request_duration_seconds_bucket')),
        q('p99', quantile(0.99, '', 'http_request_duration_seconds_bucket')),
      ),
      lines(
        'Slowest routes (p95)',
        's',
        q('{{route}}', `topk(8, ${quantile(0.95, 'route', 'http_request_duration_seconds_bucket')})`),
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
    'Deployments of a cluster',
    [
      lines(
        'Ready',
        'short',
        q('{{status}}', 'count by (status) (berth_manageddeployment_status_condition{condition="Ready"})'),
      ),
      lines(
        'Not ready by reason',
        'short',
        q(
          '{{reason}}',
          'count by (reason) (berth_manageddeployment_status_condition{condition="Ready", status!="True"})',
        ),
      ),
      lines(
        'Not ready for the longest time',
        's',
        q(
          '{{namespace}}/{{name}}',
          'topk(8, time() - berth_manageddeployment_ready_last_transition_timestamp_seconds unless on (cluster, namespace, name) berth_manageddeployment_status_condition{condition="Ready", status="True"})',
        ),
      ),
      lines(
        'Pods',
        'short',
        q('{{component}} desired', 'sum by (component) (berth_manageddeployment_status_replicas_desired)'),
        q('{{component}} ready', 'sum by (component) (berth_manageddeployment_status_replicas_ready)'),
      ),
    ],
  ],
  [
    'Operator',
    [
      lines(
        'Leading',
        'short',
        q('{{name}} {{instance}}', 'leader_election_master_status{name=~"berth-.*"}'),
      ),
      lines(
        'Reconciles by result',
        'ops',
        q('{{controller}} {{result}}', rate('controller, result', 'controller_runtime_reconcile_total')),
        q(
          '{{controller}} terminal',
          rate('controller', 'controller_runtime_terminal_reconcile_errors_total'),
        ),
      ),
      lines(
        'Time of a reconcile (p95)',
        's',
        q('{{controller}}', quantile(0.95, 'controller', 'controller_runtime_reconcile_time_seconds_bucket')),
        q('{{name}} with queue', quantile(0.95, 'name', 'workqueue_work_duration_seconds_bucket')),
        q('{{name}} longest now', `max by (name) (workqueue_longest_running_processor_seconds ${OF_BERTH})`),
        q('{{name}} all now', `sum by (name) (workqueue_unfinished_work_seconds ${OF_BERTH})`),
      ),
      lines(
        'Queues',
        'short',
        q('{{name}} waiting', `sum by (name) (workqueue_depth ${OF_BERTH})`),
        q('{{controller}} at work', `sum by (controller) (controller_runtime_active_workers ${OF_BERTH})`),
        q('{{name}} planned', 'sum by (name) (berth_workqueue_delayed)'),
        q('{{controller}} failing', 'sum by (controller) (berth_reconcile_failing_keys)'),
      ),
      lines(
        'Added to queues',
        'ops',
        q('{{name}} added', rate('name', 'workqueue_adds_total')),
        q('{{name}} retries', rate('name', 'workqueue_retries_total')),
        q('{{controller}} errors', rate('controller', 'controller_runtime_reconcile_errors_total')),
      ),
      lines(
        'Wait in a queue',
        's',
        q('{{name}} p95', quantile(0.95, 'name', 'workqueue_queue_duration_seconds_bucket')),
        q('{{name}} oldest', 'time() - min by (name) (berth_workqueue_oldest_timestamp_seconds)'),
      ),
      lines('Changes in the cluster', 'ops', q('{{kind}}', rate('kind', 'berth_operator_actions_total'))),
      lines(
        'Calls to the API server',
        'ops',
        q('{{method}} {{code}}', rate('method, code', 'rest_client_requests_total')),
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
        q('{{role}} {{kind}}', 'time() - min by (role, kind) (berth_watch_last_event_timestamp_seconds)'),
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
        q('{{listener}}', 'max by (listener) (berth_listener_lease_expiry_timestamp_seconds) - time()'),
        q('{{listener}} silent', 'time() - max by (listener) (berth_listener_last_seen_timestamp_seconds)'),
      ),
      lines(
        'Work that is due',
        'short',
        q('{{owner}}', 'max by (owner) (berth_work_due)'),
        q('{{owner}} oldest (s)', 'time() - min by (owner) (berth_work_due_oldest_timestamp_seconds)'),
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
        q('oldest (s)', 'time() - min(berth_tracing_outbox_oldest_timestamp_seconds)'),
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
      lines('Polls of branches', 'ops', q('{{result}}', rate('result', 'berth_branch_polls_total'))),
      lines(
        'Branches that wait',
        'short',
        q('branches', 'max(berth_branch_polls_due)'),
        q('oldest (s)', 'time() - min(berth_branch_polls_due_oldest_timestamp_seconds)'),
      ),
    ],
  ],
];
