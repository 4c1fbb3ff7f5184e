import { Option } from 'commander';

/** Formats of what commands print. */

export const FORMATS = ['table', 'json', 'yaml', 'name'] as const;
export type Format = (typeof FORMATS)[number];
/** For results without a name, such as reports and secrets that are shown once. */
export const FORMATS_WITHOUT_NAME = ['table', 'json', 'yaml'] as const;

/** `-o`. The first format is the default. */
export function outputOption(formats: readonly Format[] = FORMATS): Option {
  return new Option('-o, --output <format>', 'output format')
    .choices(formats)
    .default(formats[0], formats[0]);
}

/** The forms of a result that are not its data. */
export interface View {
  /** Text for people. */
  table(): string;
  /** Words that other commands accept, one for each object. */
  names?(): readonly string[];
}

/** A value in a format. */
async function rendered(format: Format, value: unknown, view: View): Promise<string> {
  if (format === 'table') return view.table();
  if (format === 'name') return (view.names?.() ?? []).join('\n');
  if (format === 'json') return JSON.stringify(value, null, 2);
  return (await import('yaml')).stringify(value).trimEnd();
}

/** Prints a value in a format. Prints nothing for `-o name` without objects. */
export async function printed(
  format: Format,
  value: unknown,
  view: View,
  print: (text: string) => void = console.log,
): Promise<void> {
  const text = await rendered(format, value, view);
  if (text !== '' || format !== 'name') print(text);
}
