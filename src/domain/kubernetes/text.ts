import { z } from 'zod';

// biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what this looks for.
const CONTROL = /[\u0000-\u001f\u007f]/;
// biome-ignore lint/suspicious/noControlCharactersInRegex: as above, but tab, line feed and carriage return may stay.
const CONTROL_BUT_WHITESPACE = /[\u0000-\u0008\u000b\u000c\u000e-\u001f\u007f]/;

const NO_CONTROL = 'must not contain control characters';
const WELL_FORMED = 'must be well-formed Unicode, without unpaired surrogates';

/**
 * One line of text of at most `max` characters, without control characters and unpaired surrogates, which PostgreSQL
 * and UTF-8 do not support.
 */
export function line(max: number): z.ZodString {
  return z
    .string()
    .max(max)
    .refine((value) => !CONTROL.test(value), NO_CONTROL)
    .refine((value) => value.isWellFormed(), WELL_FORMED);
}

/** Text like `line` that can also contain tabs and line ends. For scripts, environment values and annotations. */
export function text(max: number): z.ZodString {
  return z
    .string()
    .max(max)
    .refine((value) => !CONTROL_BUT_WHITESPACE.test(value), NO_CONTROL)
    .refine((value) => value.isWellFormed(), WELL_FORMED);
}

/** Length in bytes of UTF-8, which Kubernetes uses for sizes. */
export function byteLength(value: string): number {
  return Buffer.byteLength(value);
}
