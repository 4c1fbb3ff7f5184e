import { readFileSync } from 'node:fs';
import { z } from 'zod';
import { type BuildResult, buildResultSchema } from '../../contract/resource/build.ts';
import { workspaceOf } from './build-context.ts';
import { StepFailure } from './step-failure.ts';

/** The last step of a build: what was pushed, and of which commit. */

/** The part of BuildKit's metadata file that is looked at. */
const metadataSchema = z.object({ 'containerimage.digest': z.string() });

function digestOf(file: string): string {
  return metadataSchema.parse(JSON.parse(readFileSync(file, 'utf8')))['containerimage.digest'];
}

/**
 * Reads what the steps before left in the workspace.
 * @throws StepFailure BuildFailed when there is no complete answer
 */
export function resultStep(folder: string): BuildResult {
  const { commit, metadata } = workspaceOf(folder);
  try {
    return buildResultSchema.parse({
      commit: readFileSync(commit, 'utf8').trim(),
      digest: digestOf(metadata),
    });
  } catch (cause) {
    const message =
      'the image was built, but not its digest told: the builder left no readable metadata file';
    throw new StepFailure('BuildFailed', message, { cause });
  }
}
