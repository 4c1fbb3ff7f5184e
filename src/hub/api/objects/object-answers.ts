import { inTurns } from '../../store/core/masking.ts';
import type { ObjectsRead } from './object-reading.ts';
import type { Showing } from './object-sharing.ts';
import {
  eventsWithoutMessages,
  manifestWithoutMessages,
  maskMessages,
  maskStatus,
  parseManifest,
  withoutMessages,
} from './object-text.ts';
import { yamlLines } from './yaml-lines.ts';

/** Forms responses from what a listener sent, for callers that see the same. Yields to the event loop, because results can be large. */

/** The response with all objects. */
export async function mapAnswer(map: NonNullable<ObjectsRead['map']>, { mask, withholds }: Showing) {
  const { objects, ...rest } = map;
  const resources = await inTurns(objects, (object) =>
    maskMessages(withholds ? withoutMessages(object) : object, mask),
  );
  return { resources, ...maskMessages(rest, mask) };
}

/** The response with one object. */
export async function objectAnswer(
  { object, events, unread, manifest: sent }: NonNullable<ObjectsRead['object']>,
  { mask, withholds }: Showing,
) {
  const manifest = sent === null ? null : parseManifest(sent);
  const shown = withholds
    ? {
        object: withoutMessages(object),
        events: eventsWithoutMessages(events),
        manifest: manifest && manifestWithoutMessages(manifest),
      }
    : { object, events, manifest };
  const masked = shown.manifest && maskStatus(shown.manifest, mask);
  const lines = masked && (await inTurns(yamlLines(masked, mask), (line) => line));
  return {
    object: maskMessages(shown.object, mask),
    events: await inTurns(shown.events, (event) => maskMessages(event, mask)),
    unread: maskMessages(unread, mask),
    yaml: lines && `${lines.join('\n')}\n`,
  };
}
