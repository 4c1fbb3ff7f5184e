import type { Deployment } from '../api.gen.ts';
import { ApiProblem } from '../call-problem.ts';
import type { Context } from '../context.ts';
import { showDeployment } from '../deployments/views.ts';
import { latest } from '../deployments/write.ts';
import type { End } from '../exit-codes.ts';
import { harmless } from '../logs/log-output.ts';
import type { Revision } from '../lookup.ts';
import { PREPARING } from '../outcome.ts';
import { buildLogText, followedBuildLog, type RevisionPath } from '../revisions/build-log.ts';
import { cell, quoted } from '../table.ts';
import { settle, type WaitOptions, waitSeconds } from '../wait.ts';
import { type Archive, pack } from './archive.ts';
import { type BuildSettings, checkBuildFiles, queryOf } from './build-settings.ts';
import { readFolder } from './folder.ts';
import { sizeText } from './limits.ts';
import { folderWarnings, limitsOf, type ReadOptions, summary } from './listing.ts';
import { create, existing, type NewDeployment, newDeployment } from './target.ts';

/** `berth deploy NAME FOLDER`: packs a folder, uploads it, and waits until it is built and serves. */

const SOURCES = '/v2/deployments/{deployment_id}/sources';

export interface FolderDeployOptions extends WaitOptions, BuildSettings, ReadOptions {
  /** File with fields of a new deployment. */
  readonly file?: string;
}

async function upload(
  context: Context,
  { id, latest_revision_id: before }: Deployment,
  archive: Archive,
  settings: BuildSettings,
): Promise<Revision> {
  context.note(`uploading ${sizeText(archive.size)} …`);
  const digest = `sha-256=:${Buffer.from(archive.digest, 'hex').toString('base64')}:`;
  const params = {
    path: { deployment_id: id },
    query: queryOf(settings),
    header: { 'Content-Digest': digest },
  };
  const headers = { 'content-type': 'application/gzip', 'content-length': String(archive.size) };
  const revision = await context.client.upload(
    SOURCES,
    { params, headers },
    () => archive.chunks(),
    (reason, pauseMs) =>
      context.note(`the upload failed (${cell(reason)}); sending it again in ${pauseMs / 1000} s`),
  );
  context.note(
    revision.id === before
      ? `revision ${revision.number} has the same files and settings, so no other one was created`
      : `created revision ${revision.number}`,
  );
  return revision;
}

interface Uploaded {
  readonly deployment: Deployment;
  readonly revision: Revision;
}

/** Uploads the archive. A deployment that was just created stays, so that the next try uses it. */
async function uploaded(
  context: Context,
  target: Deployment | NewDeployment,
  archive: Archive,
  settings: BuildSettings,
): Promise<Uploaded> {
  if ('id' in target)
    return { deployment: target, revision: await upload(context, target, archive, settings) };
  const deployment = await create(context, target);
  try {
    return { deployment, revision: await upload(context, deployment, archive, settings) };
  } catch (error) {
    context.note(`the deployment ${cell(deployment.name)} exists now, without a revision`);
    throw error;
  }
}

/** Prints the log of a build until it ends. Standard output is for the result. */
async function showBuild(context: Context, path: RevisionPath, late: AbortSignal): Promise<void> {
  const stopped = AbortSignal.any([context.stopped, late]);
  try {
    for await (const line of followedBuildLog({ ...context, stopped }, path))
      context.note(harmless(buildLogText(line)));
  } catch (error) {
    if (!(error instanceof ApiProblem)) throw error;
    if (!stopped.aborted) context.note(`failed to read the log of the build: ${error.message}`);
  }
}

/** Waits until the revision is built and serves. */
async function settled(
  context: Context,
  { deployment, revision }: Uploaded,
  seconds: number,
  follow: string,
): Promise<End> {
  const began = performance.now();
  const path = { deployment_id: deployment.id, revision_id: revision.id };
  // Of an earlier revision, the build may have ended long ago.
  if (PREPARING.has(revision.status))
    await showBuild(context, path, AbortSignal.timeout(Math.ceil(seconds * 1000)));
  if (!context.stopped.aborted) return settle(context, deployment, seconds, revision.id, began);
  context.note(`stopped: the build of revision ${revision.number} continues; next: ${follow}`);
  return 'failed';
}

/**
 * Waits, then prints the deployment, even if the wait failed.
 * @param seconds null: does not wait
 */
async function finish(context: Context, sent: Uploaded, seconds: number | null): Promise<End> {
  const { deployment, revision } = sent;
  const follow = `berth revisions build-logs ${quoted(deployment.name)} ${revision.number} --follow`;
  let shown = deployment;
  try {
    if (seconds === null) context.note(`next: ${follow}`);
    const end = seconds === null ? 'reached' : await settled(context, sent, seconds, follow);
    if (end !== 'unknown' && !context.stopped.aborted) shown = await latest(context, deployment);
    return end;
  } finally {
    await showDeployment(context, shown);
  }
}

/**
 * Deploys a folder. Creates the deployment if no deployment has the name.
 * @throws UsageError when the folder cannot be sent; ApiProblem
 */
export async function deployFolder(
  context: Context,
  word: string,
  folder: string,
  options: FolderDeployOptions,
): Promise<End> {
  const seconds = waitSeconds(options);
  const { includeEnv, file } = options;
  const body = await newDeployment(word, file);
  const limits = limitsOf(options);
  const source = await readFolder(folder, { includeEnv, limits, stopped: context.stopped });
  checkBuildFiles(source, options);
  for (const warning of folderWarnings(source)) context.note(`warning: ${warning}`);
  const found = await existing(context, word);
  if (found !== null && file !== undefined)
    context.note(`${cell(found.name)} exists, so ${file} is not used; next: berth apply -f FILE changes it`);
  const archive = await pack(source, context.stopped, limits);
  context.note(`packed ${summary(source, archive.size)}`);
  const sent = uploaded(context, found ?? body, archive, options);
  return finish(context, await sent.finally(() => archive.close()), seconds);
}
