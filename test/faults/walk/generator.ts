/** Chooses the steps of a lane. Pure: the steps depend only on seed, lane and view. */
import {
  type ResourceSpec,
  type ResourceSpecField,
  resourceSpecSchema,
} from '../../../src/domain/resource-spec/resource-spec.ts';
import { specRuleIssues } from '../../../src/domain/resource-spec/spec-rules.ts';
import { specChangeIssues } from '../../../src/domain/resource-spec/volume-rules.ts';
import { FAILING_IMAGES, IMAGES, PINNED, SECRETS } from './donors.ts';
import { podSettingMove } from './pod-setting-moves.ts';
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
import { rejectedBody, rejectedMove } from './rejected-moves.ts';
import { settingsMove } from './settings-moves.ts';
import { fieldMove, type Move, specMove } from './spec-moves.ts';

/** The state of a lane before a step. */
export interface LaneView {
  readonly record: WalkRecord;
  /** Number of revisions so far. */
  readonly revisions: number;
  /** Whether the latest revision has failed. Only another revision can repair this. */
  readonly failed: boolean;
}

const MAX_EARLIER = 12;
/** Maximum number of attempts to find a valid move. */
const TRIES = 40;

/** Chooses the steps of one lane. */
export class StepGenerator {
  readonly #random: Random;
  readonly #identity: LaneIdentity;
  /** Earlier records, to which a step can return. */
  readonly #earlier: WalkRecord[] = [];
  /** Moves that follow later, such as change and removal of a field that was added. */
  readonly #follow: Move[] = [];
  /** Fields that this lane must still change and remove. */
  readonly #required: ResourceSpecField[];

  constructor(seed: number, identity: LaneIdentity) {
    this.#random = createRandom(Math.imul(seed, 0x9e3779b1) ^ Math.imul(identity.lane + 1, 0x85ebca6b));
    this.#identity = identity;
    this.#required = [...(identity.requiredFields ?? [])];
  }

  /** The first record of the deployment. */
  first(): WalkRecord {
    const spec = this.#identity.lane % 2 === 0 ? {} : this.#validMove({}).change;
    return { spec: afterPatch(BLANK, { source_config: { resource_spec: spec } }).spec, ...REST };
  }

  /** The next step. */
  next(view: LaneView): WalkStep {
    const step = this.#choose(view);
    this.#remember(view.record);
    return { ...step, wait: this.#random.chance(0.75) };
  }

  #remember(record: WalkRecord): void {
    if (failingImage(record) !== null) return;
    this.#earlier.push(record);
    if (this.#earlier.length > MAX_EARLIER) this.#earlier.splice(this.#random.below(MAX_EARLIER), 1);
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
    if (dice < 0.19) return this.#revision(view);
    if (dice < 0.24) return this.#secrets(record);
    if (dice < 0.29) return this.#settings(record);
    if (dice < 0.32) return this.#podSettings();
    if (dice < 0.33) return this.#url();
    if (dice < 0.34) return this.#domains();
    if (dice < 0.36) return { move: 'tags', what: 'tags', call: { kind: 'tags', on: random.chance(0.5) } };
    if (dice < 0.4) return this.#spec(rejectedMove(random));
    if (dice < 0.42) return this.#rejectedBody();
    if (dice < 0.46) return this.#both(record);
    return this.#spec(this.#requiredMove(record.spec) ?? this.#begin(record.spec));
  }

  #patch(move: string, what: string, body: PatchOfWalk): Omit<WalkStep, 'wait'> {
    return { move, what, call: { kind: 'patch', body } };
  }

  #spec({ move, what, change }: Move): Omit<WalkStep, 'wait'> {
    return this.#patch(move, what, { source_config: { resource_spec: change } });
  }

  #rejectedBody(): Omit<WalkStep, 'wait'> {
    const { move, what, body } = rejectedBody(this.#random);
    return this.#patch(move, what, body);
  }

  /** Sets or changes a required field. A second change and the removal follow. Null if no field is left. */
  #requiredMove(spec: ResourceSpec): Move | null {
    const field = this.#required.shift();
    if (field === undefined) return null;
    const first = this.#changeOf(field, spec);
    const then = this.#changeOf(field, { ...spec, ...first.change });
    const remove: Move = { move: 'required field', what: `remove ${field}`, change: { [field]: null } };
    this.#follow.push(then, remove);
    return first;
  }

  /** A change to another valid value. */
  #changeOf(field: ResourceSpecField, spec: ResourceSpec): Move {
    const makes = () => fieldMove(field, spec, this.#random);
    const differs = ({ change }: Move) => JSON.stringify(change[field]) !== JSON.stringify(spec[field]);
    let move = makes();
    for (let attempt = 0; attempt < TRIES; attempt += 1) {
      if (move.change[field] != null && differs(move) && this.#isValid(spec, move)) break;
      move = makes();
    }
    return move;
  }

  /** A change. Often further changes of the same fields follow, and finally the previous values. */
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
        { move: 'restore', what: `restore: ${fields.join(', ')}`, change: before },
      ];
      this.#follow.push(...steps.filter(() => this.#random.chance(0.6)));
    }
    return move;
  }

  /** A move that is usually valid. If not, another one is chosen, up to eight times. */
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
      return {
        move: 'new revision',
        what: 'a new revision with the same content',
        call: { kind: 'new-revision' },
      };
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

  #podSettings(): Omit<WalkStep, 'wait'> {
    const { what, change } = podSettingMove(this.#random);
    return this.#patch('pod settings', what, { source_config: change });
  }

  #settings({ settings }: WalkRecord): Omit<WalkStep, 'wait'> {
    const { what, change } = settingsMove(settings, this.#random);
    return this.#patch('run settings', what, { source_revision_config: change });
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

  #domains(): Omit<WalkStep, 'wait'> {
    const host = `lane-${this.#identity.lane}.walk.example`;
    const domains = this.#random.pick([null, [], [`c.${host}`], [`d.${host}`], [`C.${host}.`]]);
    return this.#patch('domains', `domains ${JSON.stringify(domains)}`, { source_config: { domains } });
  }

  /** Changes spec and image in one request. */
  #both({ spec }: WalkRecord): Omit<WalkStep, 'wait'> {
    const move = this.#validMove(spec);
    const image = this.#random.pick(IMAGES);
    return this.#patch('spec and image', `${move.what}; image ${image}`, {
      source_config: { resource_spec: move.change },
      source_revision_config: { image_uri: image },
    });
  }

  /** A step that repairs a failed lane. More than one may be necessary. */
  repair({ record }: LaneView): Omit<WalkStep, 'wait'> {
    const sidecars = (record.spec.sidecars ?? []).filter(
      ({ image }) => failingImage({ spec: {}, image }) === null,
    );
    const bad = failingImage({ spec: {}, image: record.image }) !== null;
    const clean = { source_config: { resource_spec: { sidecars: sidecars.length === 0 ? null : sidecars } } };
    if (bad) {
      const image = this.#random.pick(IMAGES);
      return this.#patch('repair', `repair: image ${image}`, {
        ...clean,
        source_revision_config: { image_uri: image },
      });
    }
    if (failingImage(record) !== null)
      return this.#patch('repair', 'repair: remove the failing sidecar', clean);
    const call: WalkCall = { kind: 'new-revision' };
    return { move: 'repair', what: 'repair: a new revision with the same content', call };
  }
}

const REST = { image: 'registry.test/app:1', settings: {}, secrets: [], customUrl: null } as const;
const BLANK: WalkRecord = { spec: {}, ...REST };
