import type { BodyIssue } from '../../../domain/core/body-issue.ts';

/** Finds duplicate members of an object, which JSON.parse silently drops (RFC 8259, section 4). */

/** An object (with its names so far) or a list (null), and the member or item that is being read. */
interface Frame {
  readonly names: Set<string> | null;
  step: string | number;
}

/** Index of the closing quote of the string that begins at `start`. */
function endOfString(text: string, start: number): number {
  let end = start + 1;
  while (end < text.length && text[end] !== '"') end += text[end] === '\\' ? 2 : 1;
  return end;
}

function decoded(literal: string): string {
  return literal.includes('\\') ? (JSON.parse(literal) as string) : literal.slice(1, -1);
}

const place = (frames: readonly Frame[]) => ['body', ...frames.map(({ step }) => step)];

/**
 * The first duplicate member, or the first object or list that is nested deeper than `maxDepth`. The function reads the
 * text once, without recursion.
 * @param text valid JSON
 */
export function duplicateIssue(text: string, maxDepth: number): BodyIssue | null {
  const frames: Frame[] = [];
  let literal: readonly [start: number, end: number] = [0, 0];
  for (let at = 0; at < text.length; at += 1) {
    const frame = frames.at(-1);
    switch (text[at]) {
      case '"':
        literal = [at, endOfString(text, at)];
        at = literal[1];
        break;
      case ':': {
        // Outside of strings, a colon follows only a name.
        const name = decoded(text.slice(literal[0], literal[1] + 1));
        if (frame === undefined) break;
        frame.step = name;
        if (frame.names?.has(name))
          return { loc: place(frames), msg: 'appears twice', type: 'duplicate_member' };
        frame.names?.add(name);
        break;
      }
      case ',':
        if (typeof frame?.step === 'number') frame.step += 1;
        break;
      case '{':
      case '[':
        if (frames.length >= maxDepth)
          return { loc: place(frames).slice(0, 4), msg: 'is nested too deeply', type: 'too_deep' };
        frames.push(text[at] === '{' ? { names: new Set(), step: '' } : { names: null, step: 0 });
        break;
      case '}':
      case ']':
        frames.pop();
        break;
    }
  }
  return null;
}
