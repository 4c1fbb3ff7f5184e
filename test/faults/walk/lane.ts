/** One lane of a walk: the calls to one deployment, and the checks after each call. */
import {
  createDeployment,
  getDeployment,
  getEvents,
  recordOf,
  recordText,
  UnexpectedAnswer,
  type WalkDeployment,
} from './answers.ts';
import { clusterState } from './cluster-state.ts';
import type { Coverage } from './coverage.ts';
import { directIssues, removalIssues } from './direct.ts';
import { effectIssues, type Issue, rejectionIssues } from './effects.ts';
import { type LaneView, StepGenerator } from './generator.ts';
import { failingImage, type LaneIdentity, type WalkStep } from './record.ts';
import type { WalkOracle, WalkViolation } from './result.ts';
import { collectRejections, REJECTIONS, send } from './send.ts';
import { leftOver, type Settled, StuckError, settle, untilRight } from './settle.ts';
import { ObjectMemory, TemplateMemory } from './state-memory.ts';
import type { WalkWorld } from './world.ts';

export interface LaneOptions {
  readonly world: WalkWorld;
  readonly seed: number;
  readonly identity: LaneIdentity;
  /** Distinguishes the walks in one world. Part of the names. */
  readonly run: string;
  readonly tagValueId: string;
  /** Shared by all lanes. */
  readonly coverage: Coverage;
  readonly log: (line: string) => void;
  readonly signal: AbortSignal;
}

/** Maximum number of repair steps: remove the failing image, create a revision, and one more. */
const MAX_REPAIRS = 3;

/** One deployment of a walk. */
export class Lane {
  readonly violations: WalkViolation[] = [];
  accepted = 0;
  rejected = 0;
  checkpoints = 0;
  /** Checkpoints without a comparison, because the deployment was switched off or had failed. */
  skipped = 0;
  readonly #options: LaneOptions;
  readonly #generator: StepGenerator;
  #history: string[] = [];
  #step = 0;
  #checkedAt = -1;
  #id = '';
  #last: WalkDeployment | undefined;
  /** The revision that may fail, because its record had a failing image since the lane was last ready. */
  #excused: string | null = null;
  #failed = false;
  #how: Settled['how'] | null = null;
  #revisions = 1;
  /** Ids of events that were already checked. */
  readonly #seenEvents = new Set<string>();
  readonly #templates = new TemplateMemory();
  readonly #objects = new ObjectMemory();

  constructor(options: LaneOptions) {
    this.#options = options;
    this.#generator = new StepGenerator(options.seed, options.identity);
  }

  get name(): string {
    return `walk-${this.#options.run}-${this.#options.identity.lane}`;
  }

  /** Number of comparisons with the objects of an earlier, equal record. */
  get returned(): number {
    return this.#objects.returned;
  }

  get steps(): number {
    return this.accepted + this.rejected;
  }

  /** Creates the deployment. @throws UnexpectedAnswer if the API rejects it */
  async begin(): Promise<void> {
    const { world, identity } = this.#options;
    const first = this.#generator.first();
    this.#history = [`0: create ${JSON.stringify({ type: identity.type, ...first })}`];
    this.#last = await createDeployment(world, this.name, identity, first);
    this.#id = this.#last.id;
    this.#excuse(this.#last);
    await this.#catchViolation(async () => this.#settle());
  }

  /** Whether the deployment was ready or switched off when it last settled. */
  get endedWell(): boolean {
    return this.#how === 'ready' || this.#how === 'off';
  }

  /** Makes one step and checks its effects. A violation is recorded, and the walk continues. */
  async step(): Promise<void> {
    await this.#makeStep((view) => this.#generator.next(view));
  }

  /** Repairs a failed lane, so that its last state can be compared. */
  async repair(): Promise<void> {
    for (let tries = 0; tries < MAX_REPAIRS && this.#how === 'failed'; tries += 1)
      await this.#makeStep((view) => ({ ...this.#generator.repair(view), wait: true }));
  }

  async #makeStep(choose: (view: LaneView) => WalkStep): Promise<void> {
    this.#step += 1;
    await this.#catchViolation(async () => {
      const record = recordOf(this.#deployment);
      const step = choose({ record, revisions: this.#revisions, failed: this.#failed });
      const pace = step.wait ? '' : ' (no wait)';
      this.#options.log(`lane ${this.#options.identity.lane} step ${this.#step}: ${step.what}${pace}`);
      this.#history.push(`${this.#step}: ${step.what} ${JSON.stringify(step.call)}${pace}`);
      await this.#call(step);
      if (step.wait) await this.#settle();
    });
  }

  /** Compares with a fresh deployment of the same record, unless there was no step since the last comparison. */
  async checkpoint(): Promise<void> {
    if (this.#checkedAt === this.#step) return;
    this.#checkedAt = this.#step;
    await this.#catchViolation(async () => {
      const settled = await this.#settle();
      if (settled.how !== 'ready' || this.#failed) {
        this.skipped += 1;
        return;
      }
      await this.#compare(settled);
      this.#history = [`${this.#step}: ready, with ${recordText(recordOf(settled.deployment))}`];
    });
  }

  /** Deletes the deployment, and checks that no object is left. */
  async end(): Promise<void> {
    const { world, signal } = this.#options;
    await this.#catchViolation(async () =>
      this.#issues('not-stuck', await removalIssues(world, this.#id, signal)),
    );
  }

  get #deployment(): WalkDeployment {
    if (this.#last === undefined) throw new Error('the lane has no deployment yet');
    return this.#last;
  }

  /** Runs the work, and records a violation if it is stuck or the API answers unexpectedly. */
  async #catchViolation(work: () => Promise<unknown>): Promise<void> {
    try {
      await work();
    } catch (error) {
      if (error instanceof StuckError) {
        const { deployment } = error;
        const isOwn = deployment === undefined || deployment.id === this.#id;
        this.#violation('not-stuck', isOwn ? error.message : `fresh deployment: ${error.message}`);
        if (isOwn) this.#last = deployment ?? this.#last;
      } else if (error instanceof UnexpectedAnswer) this.#violation('api', error.message);
      else throw error;
    }
  }

  #violation(oracle: WalkOracle, message: string, diff: readonly string[] = []): void {
    const { seed, identity } = this.#options;
    const violation = { oracle, seed, lane: identity.lane, step: this.#step, message, diff };
    this.violations.push({ ...violation, history: [...this.#history] });
    this.#options.log(
      `VIOLATION ${oracle} lane ${identity.lane} step ${this.#step}: ${message}\n${diff.join('\n')}`,
    );
  }

  #issues(oracle: WalkOracle, issues: readonly Issue[]): void {
    for (const { message, diff } of issues) this.#violation(oracle, message, diff);
  }

  async #call(step: WalkStep): Promise<void> {
    const { world, coverage, tagValueId } = this.#options;
    const before = this.#deployment;
    const { status, body } = await send(world, this.#id, step, tagValueId);
    const after = await getDeployment(world, this.#id);
    this.#last = after;
    coverage.sent(step);
    if (status >= 200 && status < 300) {
      this.accepted += 1;
      coverage.taken(step, recordOf(before), recordOf(after));
      this.#issues('api', effectIssues(step, before, after));
    } else if (status >= 400 && status < 500) {
      this.rejected += 1;
      coverage.rejected(step);
      this.#history[this.#history.length - 1] += ` → ${status} ${JSON.stringify(body)}`;
      this.#issues('api', rejectionIssues(status, before, after));
    } else this.#violation('api', `${step.what} got the status ${status}: ${JSON.stringify(body)}`);
    this.#excuse(after);
    if (after.latest_revision_id !== before.latest_revision_id) this.#revisions += 1;
  }

  #excuse(deployment: WalkDeployment): void {
    if (failingImage(recordOf(deployment)) !== null) this.#excused = deployment.latest_revision_id;
  }

  async #settle(): Promise<Settled> {
    const { world, signal } = this.#options;
    const rejections = new Set<string>();
    this.#how = null;
    const onPoll = (seen: WalkDeployment) => collectRejections(seen, rejections);
    const settled = await settle(world, this.#id, this.#excused, onPoll, signal);
    for (const rejection of rejections) this.#violation('not-rejected', rejection);
    this.#last = settled.deployment;
    this.#how = settled.how;
    await this.#checkEvents();
    this.#failed = settled.latest.status === 'DEPLOY_FAILED';
    const well = settled.how === 'ready' && failingImage(recordOf(settled.deployment)) === null;
    if (well) this.#excused = null;
    this.#issues('not-stuck', await leftOver(world, settled, signal));
    if (well) await this.#remember(settled);
    return settled;
  }

  async #remember({ deployment }: Settled): Promise<void> {
    const { world, signal } = this.#options;
    let state = await clusterState(world, this.#id);
    this.#issues('reverts', this.#templates.issues(state, deployment));
    const diff = await untilRight(async () => {
      state = await clusterState(world, this.#id);
      return this.#objects.differences(state, deployment);
    }, signal);
    this.#objects.remember(state, deployment);
    if (diff.length > 0)
      this.#violation('reverts', 'the record is equal to an earlier one, but its objects are not', diff);
  }

  /** Finds rejections that occurred only between two polls. */
  async #checkEvents(): Promise<void> {
    for (const { id, reason, message } of await getEvents(this.#options.world, this.#id)) {
      if (this.#seenEvents.has(id)) continue;
      this.#seenEvents.add(id);
      if (REJECTIONS.has(reason)) this.#violation('not-rejected', `${reason}: ${message ?? ''}`);
    }
  }

  async #compare({ deployment }: Settled): Promise<void> {
    const { world, identity, signal } = this.#options;
    const direct = { name: `${this.name}-direct-${this.checkpoints}`, identity };
    const { differs, leaves } = await directIssues(world, deployment, direct, signal);
    this.checkpoints += 1;
    this.#issues('same-as-direct', differs);
    this.#issues('not-stuck', leaves);
  }
}
