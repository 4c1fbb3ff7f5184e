import { z } from 'zod';
import { isLabelValue, isQualifiedName } from './names.ts';
import { byteLength, text } from './text.ts';

/** Maximum total size of annotations. Kubernetes allows 256 KiB, and Berth adds some annotations. */
export const MAX_ANNOTATIONS_BYTES = 240 * 1024;
const MAX_ENTRIES = 256;
/** Maximum length of a key: 253 characters for the prefix, '/', and 63 characters for the name. */
const MAX_KEY_LENGTH = 317;

const KEY_MESSAGE =
  "must have the form '[prefix/]name'. The prefix is a DNS subdomain, and the name has at most 63 letters, digits, " +
  "'-', '_' or '.'";

/** Labels that the API server accepts. */
export const labelsSchema = z
  .record(z.string().max(MAX_KEY_LENGTH), z.string().max(63))
  .superRefine((labels, ctx) => {
    const entries = Object.entries(labels);
    if (entries.length > MAX_ENTRIES)
      ctx.addIssue({ code: 'custom', message: `must not have more than ${MAX_ENTRIES} entries` });
    for (const [key, value] of entries) {
      if (!isQualifiedName(key))
        ctx.addIssue({ code: 'custom', path: [key], message: `the key ${KEY_MESSAGE}` });
      if (!isLabelValue(value)) {
        ctx.addIssue({
          code: 'custom',
          path: [key],
          message:
            "must be empty, or consist of letters, digits, '-', '_' or '.' and begin and end with a letter or digit",
        });
      }
    }
  })
  .meta({ freeForm: true });
export type Labels = z.infer<typeof labelsSchema>;

/** Annotations that the API server accepts. */
export const annotationsSchema = z
  .record(z.string().max(MAX_KEY_LENGTH), text(MAX_ANNOTATIONS_BYTES))
  .superRefine((annotations, ctx) => {
    const entries = Object.entries(annotations);
    if (entries.length > MAX_ENTRIES)
      ctx.addIssue({ code: 'custom', message: `must not have more than ${MAX_ENTRIES} entries` });
    let total = 0;
    for (const [key, value] of entries) {
      total += byteLength(key) + byteLength(value);
      if (!isQualifiedName(key.toLowerCase()))
        ctx.addIssue({ code: 'custom', path: [key], message: `the key ${KEY_MESSAGE}` });
    }
    if (total > MAX_ANNOTATIONS_BYTES) {
      ctx.addIssue({
        code: 'custom',
        message: `must not have more than ${MAX_ANNOTATIONS_BYTES} bytes in total`,
      });
    }
  })
  .meta({ freeForm: true });
export type Annotations = z.infer<typeof annotationsSchema>;
