import type { BuildStatus } from '../../../contract/resource/build.ts';
import { REASONS, type Reason } from '../../../domain/conditions/conditions.ts';
import { imageToRun } from '../images/revision-image.ts';
import type { Observed } from '../observed.ts';
import { type Finding, no, yes } from './conditions.ts';
import type { Facts } from './facts.ts';

/** Whether the image of the requested revision is available. */
export function imageReady({ observed }: Facts): Finding {
  const { source, revision } = observed.resource.spec;
  const building = buildFinding(observed);
  if (building !== null) return building;
  if (revision.image === undefined) return noImage(observed);
  const lookup = lookupFinding(observed);
  if (lookup !== null) return lookup;
  return yes(source === 'git_host' ? 'ImageBuilt' : 'ImageGiven', `image ${revision.image}`);
}

/** Only a git source is built. All other sources wait for an image in the spec. */
export function noImage({ resource: { spec } }: Observed): Finding {
  if (spec.source !== 'git_host') {
    return no('NoImage', 'the spec names no image yet: only the data services can run');
  }
  const { id, number } = spec.revision;
  return id === undefined
    ? no('NoRevision', 'no revision has an image, and no build is requested')
    : no('AwaitingBuild', `the image of revision ${number} is not built, and no build is requested`);
}

/** Why a git source gets no image until a person changes something; null: there is no such reason. */
export function buildTrouble(observed: Observed): Finding | null {
  const building = buildFinding(observed);
  if (building !== null) return observed.build?.phase === 'Failed' ? building : null;
  const { source, revision } = observed.resource.spec;
  return source === 'git_host' && revision.image === undefined ? noImage(observed) : null;
}

/** The part of ImageReady about a build; null: no build is requested, and that of the newest revision has not failed. */
export function buildFinding({ resource, build }: Observed): Finding | null {
  const number = resource.spec.build?.number ?? build?.number;
  if (number === undefined) return null;
  const revision = `revision ${number}`;
  if (!build)
    return { status: 'False', reason: 'AwaitingBuild', message: `the build of ${revision} is requested` };
  return { status: build.phase === 'Succeeded' ? 'True' : 'False', ...wording(build, revision) };
}

function wording(build: BuildStatus, revision: string): { reason: Reason; message: string } {
  const { phase, step, image, commit, reason = '', message } = build;
  const why = message === undefined ? '' : `: ${message}`;
  const origin = commit === undefined ? 'the uploaded folder' : `commit ${commit}`;
  switch (phase) {
    case 'Waiting':
      return { reason: 'AwaitingBuild', message: `${revision} waits for its build to start${why}` };
    case 'Running': {
      const where = step === undefined ? 'its build is starting' : `the step ${step} runs`;
      return { reason: 'Building', message: `${revision} is being built: ${where}${why}` };
    }
    case 'Succeeded':
      return { reason: 'ImageBuilt', message: `${revision}: image ${image} was built from ${origin}` };
    case 'Failed': {
      const known = Object.hasOwn(REASONS, reason) ? (reason as Reason) : 'BuildFailed';
      return { reason: known, message: `the build of ${revision} failed${why}` };
    }
  }
}

/** The part of ImageReady about the lookup of an image; null: no lookup. */
function lookupFinding(observed: Observed): Finding | null {
  const { resource, image: lookup } = observed;
  if (lookup?.kind === 'pending') {
    const message = `the registry is being queried for the digest of ${resource.spec.revision.image}`;
    return no('ImageResolving', message);
  }
  if (lookup?.kind === 'absent') return no('ImageNotFound', lookup.why);
  const image = imageToRun(resource, observed);
  if (image?.unresolved !== undefined) return yes('ImageUnresolved', unresolvedMessage(image));
  if (image === undefined || image.used === image.given) return null;
  return yes('ImageResolved', `image ${image.given} was resolved: its pods run ${image.used}`);
}

function unresolvedMessage({ given, unresolved }: { given: string; unresolved?: string }): string {
  return `image ${given} is used without a digest, because its lookup failed: ${unresolved}`;
}
