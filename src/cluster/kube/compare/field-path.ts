import { ATOMIC_FIELDS } from './compare-rules.ts';

/**
 * A position in an object. Field names decide how values are compared. The path string is built only when
 * there is a difference, which is rare.
 */
export interface Place {
  /** undefined: the object itself. */
  readonly around: Place | undefined;
  /** Name of the field, or the key of the entry in the list `field`. */
  readonly step: string;
  readonly isEntry: boolean;
  readonly field: string;
  readonly parent: string;
  /** The object is a Secret, so no value is shown. */
  readonly secret: boolean;
  /** Within a field that is applied as a whole. Fields and entries that others add there are differences. */
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

/** The metadata of the object itself. */
export const isMetadata = ({ around, step }: Place) =>
  around !== undefined && around.around === undefined && step === 'metadata';

export function inside(place: Place, field: string): Place {
  const { field: parent, secret } = place;
  const atomic = place.atomic || ATOMIC_FIELDS.has(field);
  return { around: place, step: field, isEntry: false, field, parent, secret, atomic };
}

/** @param step key of the entry in the list */
export function entryOf(place: Place, step: string): Place {
  const { field, parent, secret, atomic } = place;
  return { around: place, step, isEntry: true, field, parent, secret, atomic };
}
