import { z } from 'zod';
import { isReservedEnvName } from '../deployment/reserved.ts';
import { byteLength } from '../kubernetes/text.ts';

/** Names and values of the variables that tenants set: secrets, and the env of a revision. Both have the same rules. */

/**
 * Maximum size of a value. Linux rejects environment strings above 128 KiB (MAX_ARG_STRLEN), including name and `=`.
 */
export const MAX_VALUE_BYTES = 131_072 - 1024;

// Names of environment variables. Kubernetes before 1.34 silently omits variables with other names.
const VARIABLE_NAME = /^[-._a-zA-Z][-._a-zA-Z0-9]*$/;
/**
 * Rejected names: `__proto__` is not safe as a key in JavaScript, and `.` and `..…` are not valid keys of a Kubernetes
 * Secret.
 */
const IMPOSSIBLE_NAME = /^(__proto__|\.|\.\..*)$/;

/** The name of a variable. */
export const variableNameSchema = z
  .string()
  .min(1)
  .max(253)
  .regex(
    VARIABLE_NAME,
    "must be the name of an environment variable: letters, digits, '_', '-' and '.', not beginning with a digit",
  )
  .refine((name) => !IMPOSSIBLE_NAME.test(name), 'cannot be the name of a secret')
  .refine((name) => !isReservedEnvName(name), 'is reserved: Berth sets this variable itself');

/** The value of a variable. */
export const variableValueSchema = z
  .string()
  .refine((value) => byteLength(value) <= MAX_VALUE_BYTES, `must not be larger than ${MAX_VALUE_BYTES} bytes`)
  .refine((value) => !value.includes('\u0000'), 'must not contain NUL')
  .refine((value) => value.isWellFormed(), 'must be well-formed Unicode');
