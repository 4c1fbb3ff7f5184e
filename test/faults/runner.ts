/** Runs plans in shared worlds, and checks the oracles after each. */
import { type LocalPostgres, startPostgres } from '../cluster/postgres.ts';
import { reasonOf, within } from './deadline.ts';
import { ObjectCounts } from './oracles/object-counts.ts';
import type { Reference } from './oracles/oracles.ts';
import { watchRegressions } from './oracles/regressions.ts';
import { watchTasks } from './oracles/task-watch.ts';
import {
  type AddFigure,
  type FaultPlan,
  kindOf,
  type Verdict,
  type Violation,
  type Workload,
} from './plan.ts';
import { EffectDidNotOccur } from './plans/kill.ts';
import { cleanUp, deadlineOf, failedPlan, referenceFrom, runOnce, type Stage } from './run-plan.ts';
import { type RunParts, startWorld } from './start-world.ts';
import type { OwnedWorld } from './world.ts';

/** Maximum number of runs of a plan whose effect does not occur. */
const ATTEMPTS = 3;
/** Limit for stopping each part of a world. */
const END_SECONDS = 60;

/** A world that the runner keeps, with its watches. */
interface Place extends Stage {
  /** Key of its settings. Plans with equal needs share worlds. */
  readonly sort: string;
  /** The PostgreSQL of this world alone, which stops with it. Undefined if the world shares one. */
  readonly server: LocalPostgres | undefined;
}

/** The world of a plan that has its own world. Any use is an error. */
const NO_WORLD = new Proxy({} as OwnedWorld, {
  get: () => {
    throw new Error('failed to use the world: this plan brings its own');
  },
});

const playApart = (plan: FaultPlan, addFigure: AddFigure) =>
  within(deadlineOf(plan), 'the plan', plan.run(NO_WORLD, addFigure));

type WorldNeeds = Pick<FaultPlan, 'settings' | 'ownPostgres'>;

const sortOf = ({ settings = {}, ownPostgres = false }: WorldNeeds) =>
  JSON.stringify([settings, ownPostgres]);

/** Runs plans, and reuses worlds and runs without a fault. */
export class Runner {
  readonly #run: RunParts;
  readonly #idle = new Set<Place>();
  readonly #places = new Set<Place>();
  readonly #references = new Map<string, Promise<Reference>>();
  readonly #referenceElsewhere: ((workload: Workload) => Promise<Reference>) | undefined;
  #count = 0;

  /** @param reference runs workloads without a fault in another runner; default: this runner does so */
  constructor(run: RunParts, reference?: (workload: Workload) => Promise<Reference>) {
    this.#run = run;
    this.#referenceElsewhere = reference;
  }

  /**
   * Starts a world, which the next plan then reuses, and runs a workload in it without a fault.
   * @throws Error if the world does not start, or the workload does not complete
   */
  async prepare(workload: Workload): Promise<void> {
    const place = await this.#take({});
    const given = await workload.prepare(place.world);
    await workload.end(place.world, await workload.run(place.world, given));
    await this.#giveBack(place, []);
  }

  /** The final state of a workload without a fault, for another runner. */
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

  /** Runs a plan. Does not throw: the verdict contains all errors. */
  async run(plan: FaultPlan): Promise<Verdict> {
    const begun = Date.now();
    let place: Place | undefined;
    const violations: Violation[] = [];
    const figures: string[] = [];
    const addFigure: AddFigure = (line) => void figures.push(line);
    try {
      if (plan.apart === true) violations.push(...(await playApart(plan, addFigure)));
      else {
        place = await this.#take(plan);
        violations.push(...(await this.#runPlan(plan, place, addFigure)));
      }
    } catch (error) {
      violations.push(failedPlan(error, place?.world));
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

  /** Runs a plan, and repeats it if the effect that its fault needs did not occur. */
  async #runPlan(plan: FaultPlan, place: Place, addFigure: AddFigure): Promise<readonly Violation[]> {
    const reference = plan.like === undefined ? undefined : await this.#referenceOf(plan.like, place);
    for (let attempt = 1; ; attempt += 1) {
      try {
        return await runOnce(plan, place, { reference, addFigure });
      } catch (error) {
        if (!(error instanceof EffectDidNotOccur) || attempt === ATTEMPTS) throw error;
        await place.world.reset();
      }
    }
  }

  /** The final state of a workload without a fault. Each workload runs once. */
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
        taskWatch: await watchTasks(world),
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

  /** Returns a world for reuse. After a violation the world itself may be broken, so it is stopped. */
  async #giveBack(place: Place, violations: readonly Violation[]): Promise<void> {
    if (violations.length === 0) {
      try {
        await cleanUp(place.world);
        this.#idle.add(place);
        return;
      } catch (error) {
        console.error(`world ${place.world.name} cannot be used again: ${reasonOf(error)}`);
      }
    }
    await this.#end(place);
  }

  async #end(place: Place): Promise<void> {
    // Stopped once, even if the run stops while a plan returns the world.
    if (!this.#places.delete(place)) return;
    const { regressions, objectCounts, taskWatch, world, server } = place;
    const parts: [what: string, stop: () => Promise<void> | undefined][] = [
      ['the watch of regressions', () => regressions.stop()],
      ['the watches of object counts', () => objectCounts.stop()],
      ['the watches of tasks', () => taskWatch.stop()],
      ['the world', () => world.stop()],
      ['its PostgreSQL', () => server?.stop()],
    ];
    // A part that does not stop must not delay the verdict or the other plans.
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
