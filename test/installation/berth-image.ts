/** Berth's own image, built by BuildKit from the Dockerfile that users build. */
import { fileURLToPath } from 'node:url';
import { pushBaseImage } from '../cluster/images/base-images.ts';
import type { LocalBuildkit } from '../cluster/images/buildkit.ts';
import { crane } from '../cluster/images/crane.ts';
import { VERSION } from './version.ts';

const root = fileURLToPath(new URL('../..', import.meta.url));

/**
 * Builds it on the base image `node-git` and pushes it to the registry at `host` as `berth:VERSION`. npm's packages come from
 * the registry of whoever runs this.
 * @returns its digest
 */
export async function pushBerthImage(buildkit: LocalBuildkit, host: string): Promise<string> {
  const base = await pushBaseImage('node-git', host);
  const image = `${host}/berth:${VERSION}`;
  // Who vouches for the registry of npm, and its settings.
  const ca = process.env['NODE_EXTRA_CA_CERTS'];
  const npmrc = process.env['NPM_CONFIG_USERCONFIG'];
  await buildkit.buildctl([
    ...[
      'build',
      '--frontend',
      'dockerfile.v0',
      '--local',
      `context=${root}`,
      '--local',
      `dockerfile=${root}`,
    ],
    ...['--opt', `build-arg:NODE_IMAGE=${host}/base/node-git@${base.digest}`],
    ...(ca ? ['--secret', `id=ca,src=${ca}`] : []),
    ...(npmrc ? ['--secret', `id=npmrc,src=${npmrc}`] : []),
    ...['--output', `type=image,name=${image},push=true`],
  ]);
  return await crane(['digest', image]);
}
