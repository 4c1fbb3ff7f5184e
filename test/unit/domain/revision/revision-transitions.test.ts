import { expect, it } from 'vitest';
import type { DeploymentFacts } from '../../../../src/domain/deployment/cluster-report.ts';
import { move } from '../../../../src/domain/revision/revision-transitions.ts';
import { canMove, REVISION_STATUSES, type RevisionStatus } from '../../../../src/domain/revision/states.ts';

/** A deployment with one revision, in this state. */
function factsOf(status: RevisionStatus): DeploymentFacts {
  return {
    appName: 'shop-1',
    namespace: 'team',
    deleting: false,
    purgeInMs: null,
    generation: 1,
    acknowledgedGeneration: 1,
    attempts: 0,
    hasRunnableRevision: true,
    active: null,
    inPlaceFailure: null,
    wantedRevisionId: 'r1',
    observation: null,
    conditions: [],
    revisions: [{ id: 'r1', number: 1, status }],
  };
}

const PAIRS = REVISION_STATUSES.flatMap((from) => REVISION_STATUSES.map((to) => [from, to] as const));

it.each(PAIRS)('moves from %s to %s, with an event, exactly when the table allows it', (from, to) => {
  const facts = factsOf(from);
  const [revision] = facts.revisions;
  if (revision === undefined) throw new Error('failed to make a revision');
  const step = { revision, to, reason: 'RolloutInProgress', message: 'm' } as const;
  const { facts: after, moves, events } = move(facts, [step]);
  const isMoved = from !== to && canMove(from, to);
  expect(moves.map((moved) => [moved.from, moved.to])).toEqual(isMoved ? [[from, to]] : []);
  expect(events.map(({ details }) => details)).toEqual(isMoved ? [{ from, to }] : []);
  expect(after.revisions[0]?.status).toBe(isMoved ? to : from);
});
