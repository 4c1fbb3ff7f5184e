/** Runs plans in shared worlds, and checks the oracles after each. */
import { type LocalPostgres, startPostgres } from '../cluster/postgres.ts';
import { reasonOf, within } from './deadline.ts';
import { ObjectCounts } from './oracles/object-counts.ts';
import type { Reference } from './oracles/oracles.ts';
import { watchRegressions } from './oracles/regressions.ts';
import {
  type AddFigure,
  type FaultPlan,
  kindOf,
  type Verdict,
  type Violation,
  type Workload,
} from './plan.ts';
import { EffectDidNotOccur } from './plans/kill.ts';
import { asNew, brokenOff, deadlineOf, playOnce, referenceFrom, type Stage } from './run-plan.ts';
import { type RunParts, startWorld } from './start-world.ts';
import type { OwnedWorld } from './world.ts';

/** Runs of a plan that waits for an effect. */
const ATTEMPTS = 3;
/** Each part of a world has ended by then. */
const END_SECONDS = 60;

/** What the runner keeps of a place, beside what plans are played in. */
interface Place extends Stage {
  /** Plans that need alike worlds share one. */
  readonly sort: string;
  /** Of this world alone, ended with it. */
  readonly server: LocalPostgres | undefined;
}

/** What a plan that brings a world of its own is given. */
const NO_WORLD = new Proxy({} as OwnedWorld, {
  get: () => {
    throw new Error('failed to use the world: this plan brings its own');
  },
});

const playApart = (plan: FaultPlan, tell: AddFigure) =>
  within(deadlineOf(plan), 'the plan', plan.run(NO_WORLD, tell));

type WorldNeeds = Pick<FaultPlan, 'settings' | 'ownPostgres'>;

const sortOf = ({ settings = {}, ownPostgres = false }: WorldNeeds) =>
  JSON.stringify([settings, ownPostgres]);

export class Runner {
  readonly #run: RunParts;
  readonly #idle = new Set<Place>();
  readonly #places = new Set<Place>();
  readonly #references = new Map<string, Promise<Reference>>();
  readonly #referenceElsewhere: ((workload: Workload) => Promise<Reference>) | undefined;
  #count = 0;

  /** @param reference where runs without a fault are made; default: here */
  constructor(run: RunParts, reference?: (workload: Workload) => Promise<Reference>) {
    this.#run = run;
    this.#referenceElsewhere = reference;
  }

  /**
   * Starts a world that the next plan finds ready, and plays a workload in it without a fault.
   * @throws Error when the world does not start, or the workload does not end
   */
  async prepare(workload: Workload): Promise<void> {
    const place = await this.#take({});
    const given = await workload.prepare(place.world);
    await workload.end(place.world, await workload.run(place.world, given));
    await this.#giveBack(place, []);
  }

  /** The end of a workload without a fault, for another runner. */
  async reference(workload: Workload): Promise<Reference> {
    const known = this.#references.get(workload.name);
    if (known !== undefined) return known;
    const place = await this.#take({});
    try {
      return await this.#referenceOf(workload, place);
    } finally {
      await this.#giveBack(place, []);
    }
  }

  /** Never throws: what goes wrong is in the verdict. */
  async run(plan: FaultPlan): Promise<Verdict> {
    const begun = Date.now();
    let place: Place | undefined;
    const violations: Violation[] = [];
    const figures: string[] = [];
    const tell: AddFigure = (line) => void figures.push(line);
    try {
      if (plan.apart === true) violations.push(...(await playApart(plan, tell)));
      else {
        place = await this.#take(plan);
        violations.push(...(await this.#play(plan, place, tell)));
      }
    } catch (error) {
      violations.push(brokenOff(error, place?.world));
    }
    if (place !== undefined) await this.#giveBack(place, violations);
    const seconds = Math.round((Date.now() - begun) / 100) / 10;
    return {
      plan: plan.name,
      kind: kindOf(plan),
      held: violations.length === 0,
      violations,
      figures,
      seconds,
    };
  }

  /** Again where the workload went by without the effect that the fault waits for. */
  async #play(plan: FaultPlan, place: Place, tell: AddFigure): Promise<readonly Violation[]> {
    const reference = plan.like === undefined ? undefined : await this.#referenceOf(plan.like, place);
    for (let attempt = 1; ; attempt += 1) {
      try {
        return await playOnce(plan, place, { reference, tell });
      } catch (error) {
        if (!(error instanceof EffectDidNotOccur) || attempt === ATTEMPTS) throw error;
        await place.world.reset();
      }
    }
  }

  /** The end of this workload without a fault; run once. */
  #referenceOf(workload: Workload, place: Place): Promise<Reference> {
    const known = this.#references.get(workload.name);
    if (known !== undefined) return known;
    const made = this.#referenceElsewhere?.(workload) ?? referenceFrom(workload, place);
    this.#references.set(workload.name, made);
    made.catch(() => this.#references.delete(workload.name));
    return made;
  }

  async #take(plan: WorldNeeds): Promise<Place> {
    const sort = sortOf(plan);
    for (const idle of this.#idle)
      if (idle.sort === sort) {
        this.#idle.delete(idle);
        return idle;
      }
    const server = plan.ownPostgres === true ? await startPostgres({ log: () => undefined }) : undefined;
    let world: OwnedWorld | undefined;
    try {
      world = await this.#newWorld(plan, server);
      const regressions = await watchRegressions(world);
      const place: Place = {
        sort,
        world,
        server,
        regressions,
        objectCounts: await ObjectCounts.start(world),
      };
      this.#places.add(place);
      return place;
    } catch (error) {
      await world?.stop();
      await server?.stop();
      throw error;
    }
  }

  #newWorld({ settings }: WorldNeeds, server: LocalPostgres | undefined): Promise<OwnedWorld> {
    this.#count += 1;
    const { postgres } = this.#run;
    const parts = { ...this.#run, postgres: server ?? postgres, ownsPostgres: server !== undefined };
    return startWorld(String(this.#count), parts, settings);
  }

  /** A world in which something did not hold may be broken itself: it serves no other plan. */
  async #giveBack(place: Place, violations: readonly Violation[]): Promise<void> {
    if (violations.length === 0) {
      try {
        await asNew(place.world);
        this.#idle.add(place);
        return;
      } catch (error) {
        console.error(`world ${place.world.name} cannot be used again: ${reasonOf(error)}`);
      }
    }
    await this.#end(place);
  }

  async #end(place: Place): Promise<void> {
    // Ended once, also when the run stops while a plan gives it back.
    if (!this.#places.delete(place)) return;
    const { regressions, objectCounts, world, server } = place;
    const parts: [what: string, stop: () => Promise<void> | undefined][] = [
      ['the watch of what goes back', () => regressions.stop()],
      ['the watches of lives', () => objectCounts.stop()],
      ['the world', () => world.stop()],
      ['its PostgreSQL', () => server?.stop()],
    ];
    // What does not end must not keep the verdict back, nor the other plans.
    for (const [what, stop] of parts)
      await within(END_SECONDS, `ending ${what}`, Promise.resolve(stop())).catch((error) =>
        console.error(`failed to end world ${world.name}: ${reasonOf(error)}`),
      );
  }

  async stop(): Promise<void> {
    await Promise.all([...this.#places].map((place) => this.#end(place)));
    this.#idle.clear();
  }
}
