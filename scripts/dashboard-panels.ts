/** The content of the Grafana dashboard: its rows, and the queries of their panels. */

import { age, max, ofDeployments, ofHubs, quantile, rate, rates, series, sum } from './dashboard-queries.ts';

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

/** Every query has the variables of the dashboard: its panels show one installation of Berth, or several ones together. */
export const ROWS: readonly (readonly [title: string, panels: readonly Panel[]])[] = [
  [
    'Service',
    [
      stat('Ready deployments', 'short', ofHubs('', 'berth_deployments{status="READY"}')),
      stat('Unknown deployments', 'short', ofHubs('', 'berth_deployments{status="UNKNOWN"}')),
      stat(
        'Oldest work',
        's',
        `${age('', 'berth_work_due_oldest_timestamp_seconds{owner="platform"}')} or on () vector(0)`,
      ),
      stat('Operators that lead', 'short', sum('', 'leader_election_master_status{name="berth-operator"}')),
      lines('Processes', 'short', q('{{role}} {{version}}', sum('role, version', 'berth_build_info'))),
      lines(
        'Requests by status',
        'reqps',
        q('{{status_code}}', rate('status_code', 'http_request_duration_seconds_count')),
        q('{{status_code}} (waiting routes)', rate('status_code', 'berth_http_waiting_requests_total')),
        q('5xx because of a cluster', rate('', 'berth_http_cluster_errors_total')),
      ),
      lines(
        'Exchanges of workloads and logins of people',
        'ops',
        q('exchange {{result}}', rate('result', 'berth_workload_exchanges_total')),
        q('login {{step}}', rate('step', 'berth_device_logins_total')),
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
        q('{{route}}', `topk(8, ${sum('route', 'berth_http_requests_in_flight')})`),
      ),
      lines('Streams of changes', 'short', q('{{instance}}', series('berth_change_streams'))),
      lines('Event loop (p99)', 's', q('{{instance}}', series('nodejs_eventloop_lag_p99_seconds'))),
      lines('Memory', 'bytes', q('{{instance}}', series('process_resident_memory_bytes'))),
      lines('CPU', 'short', q('{{instance}}', rates('process_cpu_seconds_total'))),
    ],
  ],
  [
    'Rollouts',
    [
      lines(
        'Deployments by status',
        'short',
        q('{{status}}', ofHubs('status', 'berth_deployments')),
        q('not reconciled', ofHubs('', 'berth_deployments_unreconciled')),
      ),
      lines('Rollouts by result', 'ops', q('{{result}}', rate('result', 'berth_rollouts_total'))),
      lines(
        'Rolled out in the last hour',
        'short',
        q('deployments {{result}}', ofHubs('result', 'berth_deployments_rolled')),
        q('tenants {{result}}', ofHubs('result', 'berth_tenants_rolled')),
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
        q('{{status}}', `count by (status) (${ofDeployments('status_condition{condition="Ready"}')})`),
      ),
      lines(
        'Not ready by reason',
        'short',
        q(
          '{{reason}}',
          `count by (reason) (${ofDeployments('status_condition{condition="Ready", status!="True"}')})`,
        ),
      ),
      lines(
        'Not ready for the longest time',
        's',
        q(
          '{{namespace}}/{{name}}',
          `topk(8, time() - ${ofDeployments('ready_last_transition_timestamp_seconds')} unless on (cluster, namespace, name) ${ofDeployments('status_condition{condition="Ready", status="True"}')})`,
        ),
      ),
      lines(
        'Pods',
        'short',
        q('{{component}} desired', `sum by (component) (${ofDeployments('status_replicas_desired')})`),
        q('{{component}} ready', `sum by (component) (${ofDeployments('status_replicas_ready')})`),
      ),
    ],
  ],
  [
    'Operator',
    [
      lines(
        'Leading',
        'short',
        q('{{name}} {{instance}}', series('leader_election_master_status{name=~"berth-.*"}')),
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
        q('{{name}} longest now', max('name', 'workqueue_longest_running_processor_seconds')),
        q('{{name}} all now', sum('name', 'workqueue_unfinished_work_seconds')),
      ),
      lines(
        'Queues',
        'short',
        q('{{name}} waiting', sum('name', 'workqueue_depth')),
        q('{{controller}} at work', sum('controller', 'controller_runtime_active_workers')),
        q('{{name}} planned', sum('name', 'berth_workqueue_delayed')),
        q('{{controller}} failing', sum('controller', 'berth_reconcile_failing_keys')),
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
        q('{{name}} oldest', age('name', 'berth_workqueue_oldest_timestamp_seconds')),
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
        q('{{role}} {{kind}}', age('role, kind', 'berth_watch_last_event_timestamp_seconds')),
      ),
      lines(
        'Objects in caches',
        'short',
        q('{{role}} {{kind}}', max('role, kind', 'berth_watch_objects')),
        q('{{role}} {{kind}} failing', `${sum('role, kind', 'berth_watch_failing')} > 0`),
      ),
    ],
  ],
  [
    'Listener',
    [
      lines('Listeners', 'short', q('{{owner}} {{status}}', ofHubs('owner, status', 'berth_listeners'))),
      lines(
        'Left of the lease',
        's',
        q(
          '{{namespace}} {{listener}}',
          `${max('cluster, namespace, listener', 'berth_listener_lease_expiry_timestamp_seconds')} - time()`,
        ),
        q(
          '{{namespace}} {{listener}} silent',
          `time() - ${max('cluster, namespace, listener', 'berth_listener_last_seen_timestamp_seconds')}`,
        ),
      ),
      lines(
        'Work that is due',
        'short',
        q('{{owner}}', ofHubs('owner', 'berth_work_due')),
        q('{{owner}} oldest (s)', age('owner', 'berth_work_due_oldest_timestamp_seconds')),
      ),
      lines('Work handed out', 'ops', q('{{kind}}', rate('kind', 'berth_work_items_total'))),
      lines(
        'Reports',
        'ops',
        q('{{kind}}', rate('kind', 'berth_reports_total')),
        q('ignored', rate('', 'berth_reports_ignored_total')),
      ),
    ],
  ],
  [
    'Database',
    [
      lines(
        'Connections',
        'short',
        q('{{instance}} {{state}}', series('berth_database_connections')),
        q('{{instance}} at most', series('berth_database_connections_max')),
      ),
      lines('Waiting for a connection', 'short', q('{{instance}}', series('berth_database_waiting'))),
      lines(
        'Messages to the tracing backend',
        'short',
        q('waiting', ofHubs('', 'berth_tracing_outbox_pending')),
        q('oldest (s)', age('', 'berth_tracing_outbox_oldest_timestamp_seconds')),
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
      lines('Sign-ins', 'ops', q('{{method}} {{result}}', rate('method, result', 'berth_sign_ins_total'))),
      lines('Webhooks', 'ops', q('{{result}}', rate('result', 'berth_webhook_deliveries_total'))),
      lines('Polls of branches', 'ops', q('{{result}}', rate('result', 'berth_branch_polls_total'))),
      lines(
        'Branches that wait',
        'short',
        q('branches', ofHubs('', 'berth_branch_polls_due')),
        q('oldest (s)', age('', 'berth_branch_polls_due_oldest_timestamp_seconds')),
      ),
    ],
  ],
];
