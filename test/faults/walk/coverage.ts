/** What a walk has covered: kinds of moves, fields of resource_spec, fields that create a revision. */
import { RESOURCE_SPEC_FIELDS, resourceSpecSchema } from '../../../src/domain/resource-spec/resource-spec.ts';
import { canonical } from './answers.ts';
import type { WalkRecord, WalkStep } from './record.ts';
import { schemaLeaves, valueLeaves } from './spec-paths.ts';

const LEAVES: ReadonlySet<string> = new Set(schemaLeaves(resourceSpecSchema));

const DEEDS = ['set', 'changed', 'removed'] as const;
type Deed = (typeof DEEDS)[number];

/** null clears it in no PATCH: a volume does not shrink. */
const NEVER_REMOVED: ReadonlySet<string> = new Set(['db_storage_gi']);

function deedOf(before: unknown, after: unknown): Deed | null {
  if (canonical(before ?? null) === canonical(after ?? null)) return null;
  if (before == null) return 'set';
  return after == null ? 'removed' : 'changed';
}

const count = (tally: Map<string, number>, name: string) => tally.set(name, (tally.get(name) ?? 0) + 1);

const told = (tally: ReadonlyMap<string, number>) =>
  [...tally]
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([name, times]) => `${name} ${times}`)
    .join(', ');

export class Coverage {
  /** By kind, whether taken or refused. */
  readonly #moves = new Map<string, number>();
  readonly #fields = new Map<Deed, Set<string>>(DEEDS.map((deed) => [deed, new Set()]));
  /** Ends of the schema whose value was changed, and those that were only sent. */
  readonly #changed = new Set<string>();
  readonly #sent = new Set<string>();
  readonly #revised = new Map<string, number>();

  /** A call was made. */
  sent({ move, call }: WalkStep): void {
    count(this.#moves, move);
    if (call.kind !== 'patch') return;
    const spec = call.body.source_config?.resource_spec ?? {};
    for (const leaf of valueLeaves(spec, LEAVES).keys()) this.#sent.add(leaf);
  }

  /** It was refused. */
  refused({ call }: WalkStep): void {
    if (call.kind !== 'patch') return;
    for (const field of Object.keys(call.body.source_revision_config ?? {}))
      count(this.#revised, `${field} refused`);
  }

  /** It was taken. */
  taken({ call }: WalkStep, before: WalkRecord, after: WalkRecord): void {
    for (const field of RESOURCE_SPEC_FIELDS) {
      const deed = deedOf(before.spec[field], after.spec[field]);
      if (deed !== null) this.#fields.get(deed)?.add(field);
    }
    const was = valueLeaves(before.spec, LEAVES);
    for (const [leaf, text] of valueLeaves(after.spec, LEAVES))
      if (was.get(leaf) !== text) this.#changed.add(leaf);
    if (before.image !== after.image) count(this.#revised, 'image_uri changed');
    if (canonical(before.secrets) !== canonical(after.secrets)) count(this.#revised, 'secrets changed');
    if (call.kind !== 'patch' && call.kind !== 'tags') count(this.#revised, call.kind);
  }

  /** Fields of resource_spec that were never set, changed or removed. */
  missing(): string[] {
    return DEEDS.flatMap((deed) =>
      RESOURCE_SPEC_FIELDS.filter(
        (field) =>
          !(deed === 'removed' && NEVER_REMOVED.has(field)) && this.#fields.get(deed)?.has(field) !== true,
      ).map((field) => `${field} was never ${deed}`),
    );
  }

  /** Lines for people. */
  figures(): string[] {
    const fields = DEEDS.map((deed) => `${this.#fields.get(deed)?.size ?? 0} ${deed}`).join(', ');
    const refusedLeaves = [...this.#sent].filter((leaf) => LEAVES.has(leaf) && !this.#changed.has(leaf));
    return [
      `${this.#moves.size} kinds of moves: ${told(this.#moves)}`,
      `of ${RESOURCE_SPEC_FIELDS.length} fields of resource_spec ${fields}; of its ${LEAVES.size} ends ${this.#changed.size} changed, ${refusedLeaves.length} sent and refused`,
      `revisions: ${told(this.#revised)}`,
    ];
  }
}
