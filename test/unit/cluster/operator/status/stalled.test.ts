import { describe, expect, test } from 'vitest';
import { REASON_NAMES } from '../../../../../src/domain/conditions/conditions.ts';
import { remedyOf } from '../../../../../src/domain/conditions/remedies.ts';
import { UNATTENDED, waitsForPerson } from '../../../../../src/domain/conditions/unattended-reasons.ts';
import { settled } from '../fixtures.ts';
import { STATES_FOR_PERSON } from './states-for-person.ts';

const DAY_MS = 86_400_000;

describe.each(STATES_FOR_PERSON)('a resource $name', ({ world: create, reason, resolve }) => {
  test('is Stalled, also a day later, until a person has removed the obstacle', async () => {
    const world = await create();
    const conditions = () => ['Ready', 'Stalled', 'Reconciling'].map((type) => world.condition(type));
    const stalled = [`False ${reason}`, `True ${reason}`, 'absent'];
    expect(conditions()).toEqual(stalled);
    world.now += DAY_MS;
    await world.reconcileOnce();
    expect(conditions()).toEqual(stalled);
    resolve(world);
    world.now += 300_000;
    await world.converge();
    expect([world.condition('Ready').split(' ')[0], ...conditions().slice(1)]).toEqual([
      'True',
      'absent',
      'absent',
    ]);
  });
});

describe('a reason with a remedy for a person', () => {
  const forPerson = REASON_NAMES.filter((reason) => remedyOf(reason)?.kind === 'act');

  test.each(forPerson)('means Stalled, or the list of exceptions states why not, when it is %s', (reason) => {
    const exception = UNATTENDED[reason];
    expect(waitsForPerson(reason)).toBe(exception === undefined);
    if (exception !== undefined) expect(exception).toMatch(/^[A-Z].{15,}\.$/);
  });

  test('is the only kind of reason in the list of exceptions', () => {
    expect(Object.keys(UNATTENDED).filter((reason) => remedyOf(reason)?.kind !== 'act')).toEqual([]);
  });
});

test('a resource whose pods wait for their image is in progress until its rollout fails', async () => {
  const world = await settled({ revision: { image: 'web:1' } });
  world.cluster.stuck.set('api', 'ImagePullBackOff');
  world.change({ revision: { image: 'web:2', number: 2 } });
  await world.reconcileOnce();
  world.cluster.settle();
  await world.reconcileOnce();
  expect([world.condition('Stalled'), world.condition('Reconciling')]).toEqual([
    'absent',
    expect.stringMatching(/^True /),
  ]);
});
