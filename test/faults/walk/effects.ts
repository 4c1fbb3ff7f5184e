/** The effects that a call must have on the record according to the contract. Pure. */
import { recordOf, recordText, type WalkDeployment } from './answers.ts';
import { differences } from './diff.ts';
import { afterPatch, type WalkCall, type WalkRecord, type WalkStep } from './record.ts';

/** A broken oracle, before it is known where. */
export interface Issue {
  readonly message: string;
  readonly diff: readonly string[];
}

/** What makes a revision. */
function ofRevision({ image, secrets }: WalkRecord): string {
  return recordText({ spec: {}, image, secrets, customUrl: null });
}

function recordDiff(found: WalkRecord, expected: WalkRecord): string[] {
  return differences(JSON.parse(recordText(found)), JSON.parse(recordText(expected)), 'record');
}

/** Who brings a database is not asked for enough connections. */
function isAllowedNow(call: WalkCall, { secrets }: WalkRecord): boolean {
  const ofConnections =
    call.kind === 'patch' && call.body.source_config?.resource_spec?.['db_max_connections'] != null;
  return ofConnections && secrets.some(({ name }) => name === 'DATABASE_URI_CUSTOM');
}

/** Issues of a call that was taken. */
export function effectIssues(
  { move, what, call }: WalkStep,
  before: WalkDeployment,
  after: WalkDeployment,
): Issue[] {
  const [was, is] = [recordOf(before), recordOf(after)];
  const issues: Issue[] = [];
  if (move === 'refused' && !isAllowedNow(call, was))
    issues.push({ message: `${what}, and was taken`, diff: [] });
  const isNew = before.latest_revision_id !== after.latest_revision_id;
  const repeats = call.kind !== 'patch' && call.kind !== 'tags';
  const expected = call.kind === 'patch' ? afterPatch(was, call.body) : was;
  if (!repeats && recordText(expected) !== recordText(is)) {
    const diff = recordDiff(is, expected);
    issues.push({ message: `${what}: the record is not what the contract makes of it`, diff });
  }
  const revises = repeats || ofRevision(was) !== ofRevision(is);
  if (revises !== isNew) {
    const found = isNew ? 'a new revision that nothing asked for' : 'no new revision';
    issues.push({ message: `${what}: ${found}`, diff: [] });
  }
  const changed = isNew || recordText(was) !== recordText(is);
  if (!changed && before.generation !== after.generation) {
    issues.push({ message: `${what} changed nothing, and yet the generation`, diff: [] });
  }
  return issues;
}

/** Issues of a call that was refused: nothing may be other than it was. */
export function refusalIssues(status: number, before: WalkDeployment, after: WalkDeployment): Issue[] {
  const facts = (of: WalkDeployment) => ({
    record: JSON.parse(recordText(recordOf(of))),
    generation: of.generation,
    latest: of.latest_revision_id,
    updated: of.updated_at,
  });
  const diff = differences(facts(after), facts(before), 'deployment');
  return diff.length === 0 ? [] : [{ message: `a refusal (${status}) had an effect`, diff }];
}
