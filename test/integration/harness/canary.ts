/** Values that must not be seen, and the search for them in whatever form they may have been written. */
import { randomBytes } from 'node:crypto';

/** Base64 of `value` as it stands within the base64 of a longer text: one for each place it may begin at. */
function base64Forms(value: string): string[] {
  return [0, 1, 2].map((shift) => {
    const encoded = Buffer.from(`${'x'.repeat(shift)}${value}`)
      .toString('base64')
      .replace(/=+$/, '');
    // The characters at both ends hold bits of what stands beside the value.
    return encoded.slice(shift === 0 ? 0 : 4, -2);
  });
}

/** A value that occurs nowhere by chance. */
export const newCanary = (name: string): string => `canary-${name}-${randomBytes(12).toString('hex')}`;

export interface CanarySearch {
  /** Adds a value to search for. */
  add(name: string, value: string): string;
  /** Names of the values that occur in a text: plain, in base64, in hexadecimal, in a URL, or as JSON within JSON. */
  found(text: string): string[];
}

export function canarySearch(): CanarySearch {
  const forms = new Map<string, string[]>();
  return {
    add(name, value) {
      const escaped = [JSON.stringify(value).slice(1, -1), encodeURIComponent(value)];
      const hex = Buffer.from(value).toString('hex');
      forms.set(name, [...new Set([value, ...escaped, hex, hex.toUpperCase(), ...base64Forms(value)])]);
      return value;
    },
    found: (text) =>
      [...forms].filter(([, each]) => each.some((form) => text.includes(form))).map(([name]) => name),
  };
}
