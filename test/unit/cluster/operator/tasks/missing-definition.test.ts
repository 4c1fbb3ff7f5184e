import { expect, test } from 'vitest';
import type { Caches } from '../../../../../src/cluster/operator/observe/caches.ts';
import type { OperatorOptions } from '../../../../../src/cluster/operator/operator.ts';
import { createTasks } from '../../../../../src/cluster/operator/tasks/tasks.ts';
import { silent } from '../fixtures.ts';

/** The tasks of an operator in a cluster without their definition. */

/** @param apis the response to the discovery of APIs; an error: the API server does not respond */
function operator(apis: () => object) {
  const enqueued: string[] = [];
  const term = new AbortController();
  const caches = {
    onChange: () => undefined,
    onOwnStatus: () => undefined,
    resource: (key: string) => ({ spec: key === 'apps/scheduled' ? { schedules: [{}] } : {} }),
  };
  let checks = 0;
  const client = {
    request: async () => {
      checks += 1;
      if (checks === 3) term.abort();
      return { body: apis() };
    },
  };
  const options = {
    client,
    namespaces: [],
    config: { hosting: 'self_hosted' },
    discoveryMs: 1,
    logger: silent,
  };
  const tasks = createTasks(options as unknown as OperatorOptions, {
    caches: caches as unknown as Caches,
    isLeader: () => true,
    deployments: { add: (key) => void enqueued.push(key) },
  });
  return { tasks, enqueued, run: () => tasks.run(term.signal, term.signal) };
}

test('reports a missing definition, and reconciles once the deployments that need tasks', async () => {
  const { tasks, enqueued, run } = operator(() => ({ groups: [] }));
  expect(tasks.releases.isMissing()).toBe(false);
  expect(tasks.releases.tasksOf('apps/released')).toBeNull();
  expect(tasks.schedules.findingOf('apps/scheduled')).toBeNull();
  tasks.schedules.findingOf('apps/other');
  await run();
  expect(tasks.releases.isMissing()).toBe(true);
  expect(enqueued.toSorted()).toEqual(['apps/released', 'apps/scheduled']);
  expect(tasks.schedules.findingOf('apps/scheduled')).toMatchObject({
    status: 'False',
    reason: 'TasksUnavailable',
    message: expect.stringContaining('CustomResourceDefinition deploymenttasks.berth.dev'),
  });
});

test('does not report a missing definition when the API server does not respond', async () => {
  const { tasks, enqueued, run } = operator(() => {
    throw new Error('connection refused');
  });
  tasks.releases.tasksOf('apps/released');
  await run();
  expect(tasks.releases.isMissing()).toBe(false);
  expect(tasks.schedules.findingOf('apps/scheduled')).toBeNull();
  expect(enqueued).toEqual([]);
});
