/** How what the API server was asked is read from its metrics. */
import { expect, test } from 'vitest';
import { askedIn } from '../../bench/cluster/asked.ts';

const METRICS = `# HELP apiserver_request_total [STABLE] Counter of apiserver requests.
# TYPE apiserver_request_total counter
apiserver_request_total{code="200",resource="secrets",verb="GET"} 3
apiserver_request_total{code="201",resource="secrets",verb="POST"} 1.2e+03
apiserver_request_total{code="200",resource="manageddeployments",subresource="status",verb="PUT"} 4
apiserver_request_total{code="201",resource="events",verb="POST"} 5
apiserver_request_terminations_total{code="429"} 7
# TYPE apiserver_watch_events_total counter
apiserver_watch_events_total{group="apps",kind="",resource="deployments"} 9
apiserver_watch_events_total{group="",kind="",resource="services"} 15
apiserver_watch_events_sizes_count{group="",kind="",resource="services"} 15
`;

test('requests and events of watches are those of every verb and kind', () => {
  expect(askedIn(METRICS)).toEqual({
    requests: 1212,
    'of these to ManagedDeployments': 4,
    'of these Events': 5,
    'watch events': 24,
  });
});

test('a server that was asked nothing yet has none', () => {
  expect(new Set(Object.values(askedIn('')))).toEqual(new Set([0]));
});
