import { UUID_PATTERN } from '../../../domain/core/id.ts';
import type { EventPlace } from '../../store/events/event-follow.ts';

/**
 * Cursors. A list and a stream have different orders, so their cursors have different forms: the id of an event for a
 * list, and position and id for a stream. Clients do not interpret cursors.
 */

/** At most 16 digits, so that the position is a safe integer. */
const PLACE = /^(0|[1-9]\d{0,14})_(.+)$/;

/** The cursor of a stream after an event. */
export const streamCursor = ({ position, id }: EventPlace): string => `${position}_${id}`;

/** The place that a cursor of a stream names; null: the text is not a cursor of a stream. */
export function parseStreamCursor(cursor: string): EventPlace | null {
  const [, position, id = ''] = PLACE.exec(cursor) ?? [];
  return UUID_PATTERN.test(id) ? { position: Number(position), id: id.toLowerCase() } : null;
}

/** Whether a text is a cursor of a list. */
export const isListCursor = (cursor: string): boolean => UUID_PATTERN.test(cursor);
