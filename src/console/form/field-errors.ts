import type { FieldError } from '../api/problem.ts';
import { isPrefix, type Path } from './json.ts';

/** Errors of fields, by their paths in the body of the request. */

/** The errors that belong to a field, and to nothing within it that shows its own errors. */
export const errorsAt = (errors: readonly FieldError[], path: Path): readonly FieldError[] =>
  errors.filter((error) => error.path.length === path.length && isPrefix(path, error.path));

/** The errors of a field and of everything within it. */
export const errorsWithin = (errors: readonly FieldError[], path: Path): readonly FieldError[] =>
  errors.filter((error) => isPrefix(path, error.path));
