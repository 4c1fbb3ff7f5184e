/** Clients that change deployments without a pause, and a check of their acknowledged changes. */
import { setTimeout as sleep } from 'node:timers/promises';
import { waitFor } from '../../cluster/wait.ts';
import type { FaultWorld } from '../world.ts';
import { imageChange, imageOf } from './steps.ts';

const PAUSE_MS = 150;
const AGAIN_MS = 60_000;

/** One client, one deployment: a change after another, each with an image of its own, none of them repeated. */
export class Writer {
  readonly #world: FaultWorld;
  readonly #id: string;
  readonly #stopping = new AbortController();
  readonly #running: Promise<void>;
  /** Images in the order in which they were sent. */
  readonly acknowledged: string[] = [];
  readonly unknown: string[] = [];
  /** Answers that are neither a success nor the documented 503. */
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
      // Not answered at all: as unknown as a 503.
    }
    this.unknown.push(imageOf(tag));
  }

  /** Resolves when `more` further changes were acknowledged. */
  async progress(more: number): Promise<void> {
    const wanted = this.acknowledged.length + more;
    await waitFor('changes to be taken', async () => this.acknowledged.length >= wanted, {
      timeoutMs: AGAIN_MS,
    });
  }

  async stop(): Promise<void> {
    this.#stopping.abort();
    await this.#running;
  }

  /** What was lost, and what is there by half. */
  async problems(): Promise<string[]> {
    const revisions = await this.#world.sql<RevisionRow>(REVISIONS, [this.#id]);
    const [deployment] = await this.#world.sql<DeploymentRow>(DEPLOYMENT, [this.#id]);
    const images = revisions.map(({ image }) => image);
    const order = this.acknowledged.map((image) => images.indexOf(image));
    const sent = new Set([...this.acknowledged, ...this.unknown]);
    return [
      ...this.wrong.map((answer) => `answered otherwise: ${answer}`),
      ...this.acknowledged.filter((image) => !images.includes(image)).map((image) => `${image} was lost`),
      ...(order.every((place, index) => index === 0 || place > (order[index - 1] ?? 0))
        ? []
        : ['the order of the revisions is not that of the answers']),
      ...images.slice(1).flatMap((image) => (sent.has(image) ? [] : [`nobody has sent ${image}`])),
      ...(new Set(images).size === images.length ? [] : ['one change made two revisions']),
      ...revisions
        .filter(({ told }) => told !== 1)
        .map(({ number, told }) => `revision ${number} has ${told} events of its change`),
      ...(deployment?.generation === revisions.length
        ? []
        : [`${revisions.length} revisions, generation ${deployment?.generation}`]),
      ...(deployment?.image === images.at(-1) && deployment?.latest === revisions.at(-1)?.id
        ? []
        : [`wanted is ${deployment?.image}, the last revision is of ${images.at(-1)}`]),
    ];
  }
}

interface RevisionRow {
  id: string;
  number: number;
  image: string;
  told: number;
}
interface DeploymentRow {
  generation: number;
  image: string;
  latest: string;
}

const REVISIONS = `
SELECT id, number, source_revision_config->>'image_uri' AS image, (SELECT count(*)::int FROM events e
  WHERE e.revision_id = r.id AND e.actor_kind = 'api_key') AS told
FROM revisions r WHERE deployment_id = $1 ORDER BY number`;
const DEPLOYMENT = `
SELECT generation::int, source_revision_config->>'image_uri' AS image, latest_revision_id AS latest
FROM deployments WHERE id = $1`;

/** 503 as the document describes it: a sentence, nothing of what is behind. */
export function isUnavailable(status: number, body: unknown): boolean {
  const { detail, ...more } = (body ?? {}) as { detail?: unknown };
  return status === 503 && typeof detail === 'string' && Object.keys(more).length === 0;
}
