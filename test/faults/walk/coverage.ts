/** What a walk has covered: kinds of moves, fields of resource_spec, fields that create a revision. */
import { RESOURCE_SPEC_FIELDS, resourceSpecSchema } from '../../../src/domain/resource-spec/resource-spec.ts';
import { canonical } from './answers.ts';
import type { WalkRecord, WalkStep } from './record.ts';
import { schemaLeaves, valueLeaves } from './spec-paths.ts';

const LEAVES: ReadonlySet<string> = new Set(schemaLeaves(resourceSpecSchema));

/** The run settings. */
const SETTINGS = ['port', 'commands', 'env', 'secretReferences'] as const;

const CHANGES = ['set', 'changed', 'removed'] as const;
type Change = (typeof CHANGES)[number];

/** A PATCH with null does not clear these fields: a volume does not shrink. */
const NEVER_REMOVED: ReadonlySet<string> = new Set(['db_storage_gi']);

function changeOf(before: unknown, after: unknown): Change | null {
  if (canonical(before ?? null) === canonical(after ?? null)) return null;
  if (before == null) return 'set';
  return after == null ? 'removed' : 'changed';
}

const count = (tally: Map<string, number>, name: string) => tally.set(name, (tally.get(name) ?? 0) + 1);

const summary = (tally: ReadonlyMap<string, number>) =>
  [...tally]
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([name, times]) => `${name} ${times}`)
    .join(', ');

/** Counts what a walk has covered. */
export class Coverage {
  /** By kind of move, whether accepted or rejected. */
  readonly #moves = new Map<string, number>();
  readonly #fields = new Map<Change, Set<string>>(CHANGES.map((change) => [change, new Set()]));
  /** Leaves of the schema whose value was changed, and leaves that were sent. */
  readonly #changed = new Set<string>();
  readonly #sent = new Set<string>();
  readonly #revised = new Map<string, number>();
  readonly #settings = new Map<Change, Set<string>>(CHANGES.map((change) => [change, new Set()]));

  /** Counts a call. */
  sent({ move, call }: WalkStep): void {
    count(this.#moves, move);
    if (call.kind !== 'patch') return;
    const spec = call.body.source_config?.resource_spec ?? {};
    for (const leaf of valueLeaves(spec, LEAVES).keys()) this.#sent.add(leaf);
  }

  /** Counts a rejected call. */
  rejected({ call }: WalkStep): void {
    if (call.kind !== 'patch') return;
    for (const field of Object.keys(call.body.source_revision_config ?? {}))
      count(this.#revised, `${field} rejected`);
    if (call.body.secret_references !== undefined) count(this.#revised, 'secretReferences rejected');
  }

  /** Counts an accepted call. */
  taken({ call }: WalkStep, before: WalkRecord, after: WalkRecord): void {
    for (const field of RESOURCE_SPEC_FIELDS) {
      const change = changeOf(before.spec[field], after.spec[field]);
      if (change !== null) this.#fields.get(change)?.add(field);
    }
    const was = valueLeaves(before.spec, LEAVES);
    for (const [leaf, text] of valueLeaves(after.spec, LEAVES))
      if (was.get(leaf) !== text) this.#changed.add(leaf);
    if (before.image !== after.image) count(this.#revised, 'image_uri changed');
    for (const field of SETTINGS) {
      const change = changeOf(before.settings[field], after.settings[field]);
      if (change === null) continue;
      count(this.#revised, `${field} ${change}`);
      this.#settings.get(change)?.add(field);
    }
    if (canonical(before.secrets) !== canonical(after.secrets)) count(this.#revised, 'secrets changed');
    if (call.kind !== 'patch' && call.kind !== 'tags') count(this.#revised, call.kind);
  }

  /** Fields of resource_spec and run settings that were never set, changed or removed. */
  missing(): string[] {
    return CHANGES.flatMap((change) => {
      const fields = RESOURCE_SPEC_FIELDS.filter(
        (field) =>
          !(change === 'removed' && NEVER_REMOVED.has(field)) &&
          this.#fields.get(change)?.has(field) !== true,
      );
      const settings = SETTINGS.filter((field) => this.#settings.get(change)?.has(field) !== true);
      return [...fields, ...settings].map((field) => `${field} was never ${change}`);
    });
  }

  /** The figures of the plan, one line each. */
  figures(): string[] {
    const fields = CHANGES.map((change) => `${this.#fields.get(change)?.size ?? 0} ${change}`).join(', ');
    const rejectedLeaves = [...this.#sent].filter((leaf) => LEAVES.has(leaf) && !this.#changed.has(leaf));
    return [
      `${this.#moves.size} kinds of moves: ${summary(this.#moves)}`,
      `of ${RESOURCE_SPEC_FIELDS.length} fields of resource_spec ${fields}; of its ${LEAVES.size} leaves ${this.#changed.size} changed, ${rejectedLeaves.length} sent and rejected`,
      `revisions: ${summary(this.#revised)}`,
    ];
  }
}
