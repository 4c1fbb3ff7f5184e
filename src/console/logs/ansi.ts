/**
 * Colors of a terminal in a line of a log. A log is untrusted text: colors and styles become spans with classes, and all other
 * control sequences are removed.
 */

export type Hue = 'red' | 'green' | 'yellow' | 'blue' | 'magenta' | 'cyan' | 'quiet';

export interface TextStyle {
  /** null: the color of the page. */
  readonly hue: Hue | null;
  readonly isBold: boolean;
  readonly isItalic: boolean;
  readonly isUnderlined: boolean;
}

export interface Segment extends TextStyle {
  readonly text: string;
}

const PLAIN: TextStyle = { hue: null, isBold: false, isItalic: false, isUnderlined: false };

/** The rest of a line with more styles is shown without them, so that one line cannot slow the page down. */
const MAX_SEGMENTS = 200;

/**
 * A complete control sequence: CSI (`ESC [`), OSC with its end, DCS, SOS, PM and APC with their end, and other escapes. Of a sequence without
 * its end, only the beginning is removed, so that it cannot hide the rest of the line. Then the control characters, and those that change the
 * direction or the order of what follows.
 */
const SEQUENCE =
  // biome-ignore lint/suspicious/noControlCharactersInRegex: matches control characters on purpose
  /(?:\u001b\[|\u009b)([0-?]*)([ -/]*[@-~])|\u001b\][^\u0007\u001b]*(?:\u0007|\u001b\\)|\u001b[PX^_][^\u001b]*\u001b\\|\u001b[ -/]*[0-~]|[\u0000-\u0008\u000a-\u001f\u007f-\u009f\u2028-\u202e\u2066-\u2069]/g;

/** Colors 1 to 6 of a terminal. Black, white and gray depend on the theme, so they become the color of the page. */
const HUES: readonly (Hue | null)[] = [null, 'red', 'green', 'yellow', 'blue', 'magenta', 'cyan', null];

/** The hue that is closest to a color. */
function hueOf(red: number, green: number, blue: number): Hue | null {
  const [most, least] = [Math.max(red, green, blue), Math.min(red, green, blue)];
  if (most - least < 48) return null;
  const isHigh = (part: number) => part - least > (most - least) / 2;
  const index = (isHigh(red) ? 1 : 0) + (isHigh(green) ? 2 : 0) + (isHigh(blue) ? 4 : 0);
  return HUES[index] ?? null;
}

/** The hue of a color of the palette with 256 colors. */
function paletteHue(index: number): Hue | null {
  if (index < 16) return HUES[index % 8] ?? null;
  if (index > 231) return null;
  const cube = index - 16;
  const part = (size: number) => (Math.floor(cube / size) % 6) * 51;
  return hueOf(part(36), part(6), part(1));
}

/** The color after 38, and the number of parameters that it needs. */
function extendedColor(codes: readonly number[]): { hue: Hue | null; length: number } {
  const [kind, first = 0, second = 0, third = 0] = codes;
  if (kind === 5) return { hue: paletteHue(first), length: 2 };
  if (kind === 2) return { hue: hueOf(first, second, third), length: 4 };
  return { hue: null, length: codes.length };
}

/** Changes that one code makes. Codes without an entry, such as those of backgrounds, change nothing. */
const CHANGES: Readonly<Record<number, Partial<TextStyle>>> = {
  0: PLAIN,
  1: { isBold: true },
  2: { hue: 'quiet' },
  3: { isItalic: true },
  4: { isUnderlined: true },
  22: { isBold: false },
  23: { isItalic: false },
  24: { isUnderlined: false },
  39: { hue: null },
};

function changeOf(code: number): Partial<TextStyle> {
  if (code >= 30 && code <= 37) return { hue: HUES[code - 30] ?? null };
  if (code === 90) return { hue: 'quiet' };
  if (code > 90 && code <= 97) return { hue: HUES[code - 90] ?? null };
  return CHANGES[code] ?? {};
}

/** The style after the parameters of a sequence, such as `1;38;5;196`. */
function styled(style: TextStyle, parameters: string): TextStyle {
  const codes = parameters.split(/[;:]/).map(Number);
  let next = style;
  for (let index = 0; index < codes.length; index += 1) {
    const code = codes[index] ?? 0;
    if (code === 38 || code === 48) {
      const { hue, length } = extendedColor(codes.slice(index + 1));
      if (code === 38) next = { ...next, hue };
      index += length;
    } else next = { ...next, ...changeOf(code) };
  }
  return next;
}

/** The line without control sequences. */
export function plainText(line: string): string {
  return line.replace(SEQUENCE, (found) => (found.length > 1 ? '' : ' ')).trimEnd();
}

/** The line in parts of one style each. */
export function segmentsOf(line: string): Segment[] {
  const segments: Segment[] = [];
  let style = PLAIN;
  let start = 0;
  const add = (text: string) => {
    if (text === '') return;
    const last = segments.at(-1);
    const isSame =
      last !== undefined &&
      last.hue === style.hue &&
      last.isBold === style.isBold &&
      last.isItalic === style.isItalic &&
      last.isUnderlined === style.isUnderlined;
    if (isSame) segments[segments.length - 1] = { ...last, text: last.text + text };
    else segments.push({ ...style, text });
  };
  for (const found of line.matchAll(SEQUENCE)) {
    const [sequence, parameters = '', end] = found;
    add(line.slice(start, found.index));
    if (sequence.length === 1) add(' ');
    start = found.index + sequence.length;
    const isColor = end === 'm' && /^[\d;:]*$/.test(parameters);
    if (isColor && segments.length < MAX_SEGMENTS) style = styled(style, parameters);
  }
  add(line.slice(start));
  return segments;
}
