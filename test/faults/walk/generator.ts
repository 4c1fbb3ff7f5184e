import {
  type ResourceSpec,
  type ResourceSpecField,
  resourceSpecSchema,
} from '../../../src/domain/resource-spec/resource-spec.ts';
import { specRuleIssues } from '../../../src/domain/resource-spec/spec-rules.ts';
import { specChangeIssues } from '../../../src/domain/resource-spec/volume-rules.ts';
import { FAILING_IMAGES, IMAGES, PINNED, SECRETS } from './donors.ts';
import { createRandom, type Random } from './random.ts';
import {
  afterPatch,
  failingImage,
  isSwitchedOff,
  type LaneIdentity,
  type PatchOfWalk,
  patchTo,
  type WalkCall,
  type WalkRecord,
  type WalkStep,
} from './record.ts';
import { refusedBody, refusedMove } from './refused-moves.ts';
import { fieldMove, type Move, specMove } from './spec-moves.ts';

/** Chooses the steps of one lane. Pure: which ones follows from seed, lane and what it is told of the lane alone. */

/** What the generator is told before each step. */
export interface LaneView {
  readonly record: WalkRecord;
  /** Revisions so far. */
  readonly revisions: number;
  /** The latest revision has failed: nothing but another one mends that. */
  readonly failed: boolean;
}

const MOST_KEPT = 12;
/** Of moves that come out wrong others are tried, so often. */
const TRIES = 40;

export class StepGenerator {
  readonly #random: Random;
  readonly #identity: LaneIdentity;
  /** Records to go back to: what was reached before. */
  readonly #earlier: WalkRecord[] = [];
  /** Changes that are still to follow: add, change, remove of the same field. */
  readonly #follow: Move[] = [];
  /** Fields that are still to be changed and removed once. */
  readonly #owed: ResourceSpecField[];

  constructor(seed: number, identity: LaneIdentity) {
    this.#random = createRandom(Math.imul(seed, 0x9e3779b1) ^ Math.imul(identity.lane + 1, 0x85ebca6b));
    this.#identity = identity;
    this.#owed = [...(identity.owes ?? [])];
  }

  /** The deployment's first record. */
  first(): WalkRecord {
    const spec = this.#identity.lane % 2 === 0 ? {} : this.#validMove({}).change;
    return { spec: afterPatch(BLANK, { source_config: { resource_spec: spec } }).spec, ...REST };
  }

  next(view: LaneView): WalkStep {
    const step = this.#choose(view);
    this.#remember(view.record);
    return { ...step, wait: this.#random.chance(0.75) };
  }

  #remember(record: WalkRecord): void {
    if (failingImage(record) !== null) return;
    this.#earlier.push(record);
    if (this.#earlier.length > MOST_KEPT) this.#earlier.splice(this.#random.below(MOST_KEPT), 1);
  }

  #choose(view: LaneView): Omit<WalkStep, 'wait'> {
    const { record, failed } = view;
    const random = this.#random;
    if ((failed || failingImage(record) !== null) && random.chance(0.7)) return this.repair(view);
    if (isSwitchedOff(record) && random.chance(0.4)) {
      return this.#patch('switch on', 'switch on', { source_config: { resource_spec: { max_scale: null } } });
    }
    const following = this.#follow.shift();
    if (following !== undefined) return this.#spec(following);
    const dice = random.next();
    if (dice < 0.08) return this.#revert(record);
    if (dice < 0.21) return this.#revision(view);
    if (dice < 0.28) return this.#secrets(record);
    if (dice < 0.32) return this.#url();
    if (dice < 0.34) return { move: 'tags', what: 'tags', call: { kind: 'tags', on: random.chance(0.5) } };
    if (dice < 0.39) return this.#spec(refusedMove(random));
    if (dice < 0.42) return this.#refusedBody();
    if (dice < 0.46) return this.#both(record);
    return this.#spec(this.#owedMove(record.spec) ?? this.#begin(record.spec));
  }

  #patch(move: string, what: string, body: PatchOfWalk): Omit<WalkStep, 'wait'> {
    return { move, what, call: { kind: 'patch', body } };
  }

  #spec({ move, what, change }: Move): Omit<WalkStep, 'wait'> {
    return this.#patch(move, what, { source_config: { resource_spec: change } });
  }

  #refusedBody(): Omit<WalkStep, 'wait'> {
    const { move, what, body } = refusedBody(this.#random);
    return this.#patch(move, what, body);
  }

  /** Sets or changes a field that the lane owes, then once more, and removes it; null: there is none. */
  #owedMove(spec: ResourceSpec): Move | null {
    const field = this.#owed.shift();
    if (field === undefined) return null;
    const first = this.#changeOf(field, spec);
    const then = this.#changeOf(field, { ...spec, ...first.change });
    const remove: Move = { move: 'field owed', what: `remove ${field}`, change: { [field]: null } };
    this.#follow.push(then, remove);
    return first;
  }

  /** A value that is allowed and another than now. */
  #changeOf(field: ResourceSpecField, spec: ResourceSpec): Move {
    const makes = () => fieldMove(field, spec, this.#random);
    const isOther = ({ change }: Move) => JSON.stringify(change[field]) !== JSON.stringify(spec[field]);
    let move = makes();
    for (let attempt = 0; attempt < TRIES; attempt += 1) {
      if (move.change[field] != null && isOther(move) && this.#isValid(spec, move)) break;
      move = makes();
    }
    return move;
  }

  /** A change; often others of the same field follow, and in the end it is as before. */
  #begin(spec: ResourceSpec): Move {
    const move = this.#validMove(spec);
    if (this.#random.chance(0.35)) {
      const fields = Object.keys(move.change).filter((field) => field !== 'db_storage_gi');
      const absent = Object.fromEntries(fields.map((field) => [field, null]));
      const before = Object.fromEntries(
        fields.map((field) => [field, spec[field as keyof ResourceSpec] ?? null]),
      );
      const steps: Move[] = [
        { move: 'remove again', what: `remove again: ${fields.join(', ')}`, change: absent },
        { move: 'once more', what: `once more: ${move.what}`, change: move.change },
        { move: 'back to before', what: `back to before: ${fields.join(', ')}`, change: before },
      ];
      this.#follow.push(...steps.filter(() => this.#random.chance(0.6)));
    }
    return move;
  }

  /** Most moves are to be taken: of some that come out wrong another is chosen. */
  #validMove(spec: ResourceSpec): Move {
    let move = specMove(spec, this.#random);
    for (let attempt = 0; attempt < 8 && !this.#isValid(spec, move); attempt += 1) {
      move = specMove(spec, this.#random);
    }
    return move;
  }

  #isValid(before: ResourceSpec, { change }: Move): boolean {
    const { spec } = afterPatch({ ...BLANK, spec: before }, { source_config: { resource_spec: change } });
    const parsed = resourceSpecSchema.safeParse(spec);
    if (!parsed.success) return false;
    const { type } = this.#identity;
    const issues = [
      ...specRuleIssues({ spec, deploymentType: type, customDatabase: false }),
      ...specChangeIssues(before, spec, type),
    ];
    return issues.length === 0;
  }

  #revert(record: WalkRecord): Omit<WalkStep, 'wait'> {
    if (this.#earlier.length === 0) return this.#patch('nothing', 'nothing', {});
    return this.#patch(
      'revert',
      'revert to an earlier record',
      patchTo(record, this.#random.pick(this.#earlier)),
    );
  }

  #revision({ revisions }: LaneView): Omit<WalkStep, 'wait'> {
    const random = this.#random;
    const back = random.below(Math.min(revisions, 5));
    const kind = random.pick(['image', 'image', 'image', 'fail', 'redeploy', 'rollback', 'new'] as const);
    if (kind === 'new')
      return { move: 'new revision', what: 'a new revision of the same', call: { kind: 'new-revision' } };
    if (kind === 'redeploy' || kind === 'rollback')
      return { move: kind, what: `${kind} ${back} back`, call: { kind, back } };
    const image = random.pick(kind === 'fail' ? FAILING_IMAGES : [...IMAGES, PINNED]);
    return this.#patch(kind === 'fail' ? 'failing image' : 'image', `image ${image}`, {
      source_revision_config: { image_uri: image },
    });
  }

  #secrets({ secrets }: WalkRecord): Omit<WalkStep, 'wait'> {
    const secret = this.#random.pick(SECRETS);
    const rest = secrets.filter(({ name }) => name !== secret.name);
    const there = rest.length < secrets.length;
    const next = there && this.#random.chance(0.6) ? rest : [...rest, secret];
    return this.#patch('secrets', `secret ${secret.name} ${next === rest ? 'removed' : 'set'}`, {
      secrets: next,
    });
  }

  #url(): Omit<WalkStep, 'wait'> {
    const { lane } = this.#identity;
    const host = `lane-${lane}.walk.example`;
    const url = this.#random.pick([
      null,
      `https://${host}`,
      `https://${host}/`,
      `https://${host}/path`,
      `https://b.${host}`,
    ]);
    return this.#patch('custom_url', `custom_url ${url}`, { source_config: { custom_url: url } });
  }

  /** A revision with a change of the spec in one request. */
  #both({ spec }: WalkRecord): Omit<WalkStep, 'wait'> {
    const move = this.#validMove(spec);
    const image = this.#random.pick(IMAGES);
    return this.#patch('spec and image', `${move.what}; image ${image}`, {
      source_config: { resource_spec: move.change },
      source_revision_config: { image_uri: image },
    });
  }

  /** Towards the end of a failure; it may take some of them. */
  repair({ record }: LaneView): Omit<WalkStep, 'wait'> {
    const sidecars = (record.spec.sidecars ?? []).filter(
      ({ image }) => failingImage({ spec: {}, image }) === null,
    );
    const bad = failingImage({ spec: {}, image: record.image }) !== null;
    const clean = { source_config: { resource_spec: { sidecars: sidecars.length === 0 ? null : sidecars } } };
    if (bad) {
      const image = this.#random.pick(IMAGES);
      return this.#patch('mend', `repair: image ${image}`, {
        ...clean,
        source_revision_config: { image_uri: image },
      });
    }
    if (failingImage(record) !== null)
      return this.#patch('mend', 'mend: without the sidecar that fails', clean);
    const call: WalkCall = { kind: 'new-revision' };
    return { move: 'mend', what: 'mend: a new revision of the same', call };
  }
}

const REST = { image: 'registry.test/app:1', secrets: [], customUrl: null } as const;
const BLANK: WalkRecord = { spec: {}, ...REST };
