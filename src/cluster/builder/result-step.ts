import { existsSync, readFileSync } from 'node:fs';
import { z } from 'zod';
import { type BuildResult, buildResultSchema } from '../../contract/resource/build.ts';
import { workspaceOf } from './build-context.ts';
import { StepFailure } from './step-failure.ts';

/** The last step of a build: reports the pushed image, the commit of a repository and the commands of the Procfile. */

/** The part of BuildKit's metadata file that Berth reads. */
const metadataSchema = z.object({ 'containerimage.digest': z.string() });

function digestOf(file: string): string {
  return metadataSchema.parse(JSON.parse(readFileSync(file, 'utf8')))['containerimage.digest'];
}

/**
 * Reads the files that the earlier steps left in the workspace.
 * @throws StepFailure BuildFailed when the result is incomplete
 */
export function resultStep(folder: string): BuildResult {
  const { commit, metadata, procfile } = workspaceOf(folder);
  try {
    return buildResultSchema.parse({
      ...(existsSync(commit) ? { commit: readFileSync(commit, 'utf8').trim() } : {}),
      digest: digestOf(metadata),
      ...(existsSync(procfile) ? { procfile: JSON.parse(readFileSync(procfile, 'utf8')) } : {}),
    });
  } catch (cause) {
    const message =
      'the image was built, but its digest is unknown, because the builder wrote no readable metadata file';
    throw new StepFailure('BuildFailed', message, { cause });
  }
}
