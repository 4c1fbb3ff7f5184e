/** A deployment whose second revision fails, so that explanation, rollback and timeline have something to show. */
import { setTimeout as delay } from 'node:timers/promises';
import type { DemoOptions } from './options.ts';
import { type Created, callApi, type Sample } from './samples.ts';
import type { DemoStack } from './stack.ts';

const NAME = 'Failing release';
/** Images that other samples use too, because a real node has no others. */
const IMAGES = {
  self_hosted: 'ghcr.io/example/bookmarks:2.3.0',
  cloud: 'registry.berth.example/billing/invoice-printer:1.0.4',
} as const;
/** Simulated programs of this tag end soon after their start (test/cluster/stages). No registry has it, so other nodes cannot pull it. */
const BROKEN_TAG = 'fail-crash-loop';

/** The first revision, which becomes READY. */
export function failingSample({ hosting }: Pick<DemoOptions, 'hosting'>): Sample {
  const image_uri = IMAGES[hosting];
  const source = hosting === 'cloud' ? 'internal_image' : 'external_image';
  return {
    file: '--failing',
    body: { name: NAME, source, source_config: {}, source_revision_config: { image_uri }, secrets: [] },
  };
}

/** The image with the tag that fails. */
export const brokenImage = (image: string): string =>
  `${image.slice(0, image.lastIndexOf(':') + 1)}${BROKEN_TAG}`;

interface Revision {
  readonly id: string;
  readonly status: string;
  readonly message: string | null;
}

/**
 * Deploys the image that fails, and waits until its revision has failed.
 * @throws Error if it has not failed in time
 */
export async function breakRollout(
  stack: DemoStack,
  { id, name }: Created,
  timeoutMs: number,
): Promise<void> {
  const path = `/v2/deployments/${id}`;
  const { source_revision_config: config } = await callApi<{ source_revision_config: { image_uri: string } }>(
    stack,
    'GET',
    path,
  );
  const image_uri = brokenImage(config.image_uri);
  const { latest_revision_id: revisionId } = await callApi<{ latest_revision_id: string }>(
    stack,
    'PATCH',
    path,
    {
      source_revision_config: { image_uri },
    },
  );
  console.log(`\n  PATCH ${path}  ${name}  ${image_uri}`);
  const end = Date.now() + timeoutMs;
  for (;;) {
    const revision = await callApi<Revision>(stack, 'GET', `${path}/revisions/${revisionId}`);
    if (revision.status === 'DEPLOY_FAILED') {
      console.log(
        `  The second revision of "${name}" has failed, and the first one still serves: ${revision.message}`,
      );
      return;
    }
    if (Date.now() > end)
      throw new Error(
        `failed to show a rollout that fails: the second revision of "${name}" is still ${revision.status}`,
      );
    await delay(500);
  }
}
