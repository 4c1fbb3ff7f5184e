/**
 * The values of a type of the API, for options with choices. The compiler reports a missing and an unknown value, so that
 * the choices are those of the API.
 */
export const choicesOf = <Value extends string>(values: Readonly<Record<Value, true>>): readonly Value[] =>
  Object.keys(values) as Value[];
