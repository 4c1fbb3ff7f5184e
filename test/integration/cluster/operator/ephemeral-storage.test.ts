/** Requests and limits of ephemeral storage: only in templates that are rendered with them, never in running pods. */
import { expect, test } from 'vitest';
import { operatorWorld, startOperator } from '../../harness/operator.ts';

interface Template {
  spec: { containers: { name: string; resources?: { requests?: object; limits?: object } }[] };
}

test('restarts nothing when an operator with limits of ephemeral storage takes over, and sets them in the next revision', async () => {
  const world = await operatorWorld('ephemeral');
  const revision = (number: number) => ({ number, image: `registry.example/hello:${number}` });
  const workloads = [
    ['deployment', 'shop-api'],
    ['deployment', 'shop-cache'],
    ['statefulset', 'shop-db'],
  ] as const;
  const templates = async () =>
    await Promise.all(
      workloads.map(async ([kind, name]) => {
        const object = await world.get(kind, name);
        if (object === undefined) throw new Error(`${kind} ${name} does not exist`);
        return (object['spec'] as { template: Template }).template;
      }),
    );
  const storage = (template: Template) =>
    template.spec.containers.map(({ resources }) => [resources?.requests, resources?.limits]);
  const set = [{ 'ephemeral-storage': '64Mi' }, { 'ephemeral-storage': '50Gi' }];

  // Events of the last rollout are posted after its status.
  const writes = () =>
    operator.requests
      .filter(
        ({ verb, resource, path }) =>
          !['get', 'list'].includes(verb) && resource !== 'events' && path.includes('shop'),
      )
      .map(({ verb, path }) => `${verb} ${path}`);

  let operator = await startOperator(world.another('former'));
  await world.apply('shop', { revision: revision(1) });
  await world.ready('shop');
  const before = await templates();
  expect(JSON.stringify(before)).not.toContain('ephemeral-storage');
  await operator.stop();

  operator = await startOperator(
    world.another('newer', { ephemeralStorage: { request: '64Mi', limit: '50Gi' } }),
  );
  // A change that is not an input of templates, so that the operator has certainly reconciled.
  await world.apply('shop', { revision: revision(1), components: { api: { scale: { min: 2, max: 2 } } } });
  await world.ready('shop');
  expect(await templates()).toEqual(before);

  await world.apply('shop', { revision: revision(2), components: { api: { scale: { min: 2, max: 2 } } } });
  await world.ready('shop');
  const [api, cache, database] = await templates();
  expect(api && storage(api)).toEqual([set]);
  // Data services change with their own settings only.
  expect([cache, database]).toEqual(before.slice(1));

  await world.apply('shop', {
    revision: revision(2),
    components: { api: { scale: { min: 2, max: 2 } } },
    database: { maxConnections: 50 },
    cache: { maxMemoryMb: 200 },
  });
  await world.ready('shop');
  const [same, ...services] = await templates();
  expect(same).toEqual(api);
  expect(services.map(storage)).toEqual([[set], [set]]);
  // Nothing is written while nothing changes: the API server stores the quantities as they were rendered.
  const earlier = writes().length;
  await world.kubectl('annotate', 'mdep', 'shop', 'example.com/touched=yes');
  // A later change of another resource shows that the operator has worked its queue.
  await world.apply('marker', { suspend: true, revision: revision(1) });
  await world.until('marker', 'off', ({ suspended }) => suspended === true);
  expect(writes().slice(earlier)).toEqual([]);
  await operator.stop();
  await world.end();
});
