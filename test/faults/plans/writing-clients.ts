/** Clients that change deployments without a pause, and a check of their acknowledged changes. */
import { setTimeout as sleep } from 'node:timers/promises';
import { waitFor } from '../../cluster/wait.ts';
import type { FaultWorld } from '../world.ts';
import { imageChange, imageOf } from './steps.ts';

const PAUSE_MS = 150;
const PROGRESS_MS = 60_000;

/** One client of one deployment. It sends one change after another, each with another image, and does not repeat any. */
export class Writer {
  readonly #world: FaultWorld;
  readonly #id: string;
  readonly #stopping = new AbortController();
  readonly #running: Promise<void>;
  /** Images of acknowledged changes, in the order in which they were sent. */
  readonly acknowledged: string[] = [];
  readonly unknown: string[] = [];
  /** Responses that are neither a success nor the documented 503. */
  readonly wrong: string[] = [];

  constructor(world: FaultWorld, id: string, prefix: string) {
    this.#world = world;
    this.#id = id;
    this.#running = this.#run(prefix);
  }

  async #run(prefix: string): Promise<void> {
    for (let number = 1; !this.#stopping.signal.aborted; number += 1) {
      await this.#change(`${prefix}-${number}`);
      await sleep(PAUSE_MS);
    }
  }

  async #change(tag: string): Promise<void> {
    const path = `/v2/deployments/${this.#id}`;
    try {
      const { status, body } = await this.#world.call<unknown>('PATCH', path, imageChange(tag));
      if (status < 300) {
        this.acknowledged.push(imageOf(tag));
        return;
      }
      if (!isUnavailable(status, body)) this.wrong.push(`${tag}: ${status} ${JSON.stringify(body)}`);
    } catch {
      // Without a response, it is unknown whether the change was made, as after a 503.
    }
    this.unknown.push(imageOf(tag));
  }

  /** Resolves when `more` further changes were acknowledged. */
  async progress(more: number): Promise<void> {
    const wanted = this.acknowledged.length + more;
    await waitFor('changes to be acknowledged', async () => this.acknowledged.length >= wanted, {
      timeoutMs: PROGRESS_MS,
    });
  }

  async stop(): Promise<void> {
    this.#stopping.abort();
    await this.#running;
  }

  /** Acknowledged changes that were lost, changes that are incomplete, and wrong responses. One line each. */
  async problems(): Promise<string[]> {
    const revisions = await this.#world.sql<RevisionRow>(REVISIONS, [this.#id]);
    const [deployment] = await this.#world.sql<DeploymentRow>(DEPLOYMENT, [this.#id]);
    const images = revisions.map(({ image }) => image);
    const order = this.acknowledged.map((image) => images.indexOf(image));
    const sent = new Set([...this.acknowledged, ...this.unknown]);
    return [
      ...this.wrong.map((answer) => `unexpected response: ${answer}`),
      ...this.acknowledged.filter((image) => !images.includes(image)).map((image) => `${image} was lost`),
      ...(order.every((place, index) => index === 0 || place > (order[index - 1] ?? 0))
        ? []
        : ['the order of the revisions is not that of the responses']),
      ...images.slice(1).flatMap((image) => (sent.has(image) ? [] : [`${image} was never sent`])),
      ...(new Set(images).size === images.length ? [] : ['one change created two revisions']),
      ...revisions
        .filter(({ events }) => events !== 1)
        .map(({ number, events }) => `revision ${number} has ${events} events of its change`),
      ...(deployment?.generation === revisions.length
        ? []
        : [`${revisions.length} revisions, generation ${deployment?.generation}`]),
      ...(deployment?.image === images.at(-1) && deployment?.latest === revisions.at(-1)?.id
        ? []
        : [`the desired image is ${deployment?.image}, but the last revision has ${images.at(-1)}`]),
    ];
  }
}

interface RevisionRow {
  id: string;
  number: number;
  image: string;
  events: number;
}
interface DeploymentRow {
  generation: number;
  image: string;
  latest: string;
}

const REVISIONS = `
SELECT id, number, source_revision_config->>'image_uri' AS image, (SELECT count(*)::int FROM events e
  WHERE e.revision_id = r.id AND e.actor_kind = 'api_key') AS events
FROM revisions r WHERE deployment_id = $1 ORDER BY number`;
const DEPLOYMENT = `
SELECT generation::int, source_revision_config->>'image_uri' AS image, latest_revision_id AS latest
FROM deployments WHERE id = $1`;

/** Whether it is the documented 503: a `detail` and no internals. */
export function isUnavailable(status: number, body: unknown): boolean {
  const { detail, ...more } = (body ?? {}) as { detail?: unknown };
  return status === 503 && typeof detail === 'string' && Object.keys(more).length === 0;
}
