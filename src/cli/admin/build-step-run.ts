import { resultStep } from '../../cluster/builder/result-step.ts';
import { sourceStep } from '../../cluster/builder/source-step.ts';
import { failureText, StepFailure, writeTerminationMessage } from '../../cluster/builder/step-failure.ts';
import { uploadStep } from '../../cluster/builder/upload-step.ts';
import { buildStepSettings } from '../../config/index.ts';

/** `berth build-step`: a step in the Job of a build (docs/builds.md). */

interface StepOptions {
  readonly workspace: string;
  readonly terminationLog?: string;
}

/** The options of the step `source`. */
export interface SourceOptions extends StepOptions {
  readonly repoUrl: string;
  readonly ref?: string;
  readonly commit?: string;
  readonly config: string;
  readonly installCommand?: string;
  readonly buildCommand?: string;
  readonly credentials: string;
  readonly maxMegabytes: number;
  readonly timeoutSeconds: number;
}

const MEGABYTE = 1024 * 1024;
const say = (line: string) => console.log(line);

/** The failure for the owner of the repository. An internal error is also logged in full for the platform. */
function failureOf(error: unknown): StepFailure {
  if (error instanceof StepFailure) return error;
  console.error(error);
  const message = error instanceof Error ? error.message : String(error);
  return new StepFailure('BuildFailed', `the build could not be run: ${message}`, { cause: error });
}

/**
 * Runs a step, and writes its result or its failure for the operator.
 * @param run returns the result; empty: nothing to report
 * @returns the exit code
 */
async function report(terminationLog: string, run: () => Promise<string> | string): Promise<0 | 1> {
  try {
    const result = await run();
    if (result !== '') writeTerminationMessage(terminationLog, result);
    return 0;
  } catch (error) {
    const failure = failureOf(error);
    console.error(failure.message);
    writeTerminationMessage(terminationLog, failureText(failure.reason, failure.message));
    return 1;
  }
}

/** `berth build-step source` */
export function buildSource(options: SourceOptions): Promise<0 | 1> {
  const settings = buildStepSettings();
  const { config: configPath, maxMegabytes, timeoutSeconds, terminationLog, ref, commit, ...given } = options;
  const { installCommand, buildCommand } = given;
  const limits = { bytes: maxMegabytes * MEGABYTE, timeoutMs: timeoutSeconds * 1000 };
  return report(terminationLog ?? settings.terminationLog, async () => {
    const request = { ...given, ref, commit, installCommand, buildCommand, configPath, limits };
    await sourceStep(request, settings, say);
    return '';
  });
}

/** The options of the step `source` for an uploaded folder. */
export interface UploadOptions extends StepOptions {
  readonly repository: string;
  readonly digest: string;
  readonly dockerfile?: string;
  readonly config?: string;
  readonly installCommand?: string;
  readonly buildCommand?: string;
  readonly credentials: string;
  readonly insecureRegistry: boolean;
  readonly maxPackedMb: number;
  readonly maxUnpackedMb: number;
  readonly maxEntries: number;
  readonly maxPathBytes: number;
  readonly timeoutSeconds: number;
}

/** `berth build-step upload` */
export function buildUpload(options: UploadOptions): Promise<0 | 1> {
  const settings = buildStepSettings();
  const { config: configPath, insecureRegistry: insecure, terminationLog, ...given } = options;
  const limits = {
    packedBytes: options.maxPackedMb * MEGABYTE,
    unpackedBytes: options.maxUnpackedMb * MEGABYTE,
    entries: options.maxEntries,
    pathBytes: options.maxPathBytes,
    timeoutMs: options.timeoutSeconds * 1000,
  };
  return report(terminationLog ?? settings.terminationLog, async () => {
    await uploadStep({ ...given, configPath, insecure, limits }, settings, say);
    return '';
  });
}

/** `berth build-step result` */
export function buildResult({ workspace, terminationLog }: StepOptions): Promise<0 | 1> {
  return report(terminationLog ?? buildStepSettings().terminationLog, () => {
    const built = resultStep(workspace);
    say(`built ${built.digest}${built.commit === undefined ? '' : ` of commit ${built.commit}`}`);
    return JSON.stringify(built);
  });
}
