/** The effects that a call must have on the record according to the contract. Pure. */
import { recordOf, recordText, type WalkDeployment } from './answers.ts';
import { differences } from './diff.ts';
import { afterPatch, type WalkCall, type WalkRecord, type WalkStep } from './record.ts';

/** A violation, before its lane and step are added. */
export interface Issue {
  readonly message: string;
  readonly diff: readonly string[];
}

/** The part of a record whose change creates a revision. */
function ofRevision({ image, settings, secrets }: WalkRecord): string {
  return recordText({ spec: {}, image, settings, secrets, customUrl: null });
}

function recordDiff(found: WalkRecord, expected: WalkRecord): string[] {
  return differences(JSON.parse(recordText(found)), JSON.parse(recordText(expected)), 'record');
}

/** Whether Berth runs no database: the user has an own one, or has switched it off. */
export function hasNoDatabase({
  secrets,
  settings: { env = [], secretReferences = [] },
  podSettings,
}: WalkRecord): boolean {
  const isExternal = [...secrets, ...secretReferences, ...env].some(
    ({ name }) => name === 'DATABASE_URI_CUSTOM',
  );
  return isExternal || podSettings?.database?.enabled === false;
}

/** Without a database of Berth, any number of connections is allowed. */
function isAllowedNow(call: WalkCall, record: WalkRecord): boolean {
  const setsConnections =
    call.kind === 'patch' && call.body.source_config?.resource_spec?.['db_max_connections'] != null;
  return setsConnections && hasNoDatabase(record);
}

/** Checks the effects of an accepted call. */
export function effectIssues(
  { move, what, call }: WalkStep,
  before: WalkDeployment,
  after: WalkDeployment,
): Issue[] {
  const [was, is] = [recordOf(before), recordOf(after)];
  const issues: Issue[] = [];
  if (move === 'rejected' && !isAllowedNow(call, was))
    issues.push({ message: `${what} was accepted`, diff: [] });
  const isNew = before.latest_revision_id !== after.latest_revision_id;
  const repeats = call.kind !== 'patch' && call.kind !== 'tags';
  const expected = call.kind === 'patch' ? afterPatch(was, call.body) : was;
  if (!repeats && recordText(expected) !== recordText(is)) {
    const diff = recordDiff(is, expected);
    issues.push({ message: `${what}: the record differs from that of the contract`, diff });
  }
  const revises = repeats || ofRevision(was) !== ofRevision(is);
  if (revises !== isNew) {
    const found = isNew ? 'an unexpected new revision' : 'no new revision';
    issues.push({ message: `${what}: ${found}`, diff: [] });
  }
  const changed = isNew || recordText(was) !== recordText(is);
  if (!changed && before.generation !== after.generation) {
    issues.push({ message: `${what} changed the generation, but not the record`, diff: [] });
  }
  return issues;
}

/** Checks that a rejected call had no effect. */
export function rejectionIssues(status: number, before: WalkDeployment, after: WalkDeployment): Issue[] {
  const facts = (of: WalkDeployment) => ({
    record: JSON.parse(recordText(recordOf(of))),
    generation: of.generation,
    latest: of.latest_revision_id,
    updated: of.updated_at,
  });
  const diff = differences(facts(after), facts(before), 'deployment');
  return diff.length === 0 ? [] : [{ message: `a rejected call (${status}) had an effect`, diff }];
}
