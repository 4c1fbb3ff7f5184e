import { ATOMIC_FIELDS } from './compare-rules.ts';

/**
 * Where we are in the object: field names decide how values are compared. The path is put together where there is a
 * difference to tell of: mostly there is none.
 */
export interface Place {
  /** undefined: this is the object itself. */
  readonly around: Place | undefined;
  /** Name of the field, or what tells the entry of the list `field` from the others. */
  readonly step: string;
  readonly isEntry: boolean;
  readonly field: string;
  readonly parent: string;
  /** The object is a Secret: no value is shown. */
  readonly secret: boolean;
  /** Within a field that is applied as one: fields and entries beside ours are differences there. */
  readonly atomic: boolean;
}

export function wholeObject(secret: boolean): Place {
  const nowhere = { around: undefined, step: '', isEntry: false, field: '', parent: '' };
  return { ...nowhere, secret, atomic: false };
}

export function pathOf({ around, step, isEntry }: Place): string {
  if (around === undefined) return '';
  const before = pathOf(around);
  if (isEntry) return `${before}[${step}]`;
  if (before === '') return step;
  return /^[\w-]+$/.test(step) ? `${before}.${step}` : `${before}[${step}]`;
}

/** The object's own metadata. */
export const isMetadata = ({ around, step }: Place) =>
  around !== undefined && around.around === undefined && step === 'metadata';

export function inside(place: Place, field: string): Place {
  const { field: parent, secret } = place;
  const atomic = place.atomic || ATOMIC_FIELDS.has(field);
  return { around: place, step: field, isEntry: false, field, parent, secret, atomic };
}

/** @param step what tells the entry from the others of the list */
export function entryOf(place: Place, step: string): Place {
  const { field, parent, secret, atomic } = place;
  return { around: place, step, isEntry: true, field, parent, secret, atomic };
}
