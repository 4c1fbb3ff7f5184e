import { MAX_OBJECT_MESSAGE, type ObjectState } from '../../../domain/core/object-map.ts';

/** State and message of an object. */
export interface Judgement {
  readonly state: ObjectState;
  readonly message: string | null;
}

/** Marks where a text was cut, so that the hub also masks a part of a secret there. */
const CUT = '…';

/** A text of limited length. */
export function cut(text: string, most = MAX_OBJECT_MESSAGE): string {
  return text.length <= most ? text : `${text.slice(0, most - 1).toWellFormed()}${CUT}`;
}
