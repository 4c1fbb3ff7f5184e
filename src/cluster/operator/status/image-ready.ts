import { buildFinding } from '../builds/build-findings.ts';
import { lookupFinding } from '../images/image-findings.ts';
import type { Facts } from '../observe/facts.ts';
import type { Observed } from '../observed.ts';
import { type Finding, no, yes } from './conditions.ts';

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
export function noImage({ resource }: Observed): Finding {
  return resource.spec.source === 'git_host'
    ? no('AwaitingBuild', 'the image of the requested revision is not built yet')
    : no('NoImage', 'the spec names no image yet: only the data services can run');
}
