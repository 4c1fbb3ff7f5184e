/** The text of the chart's README: each value with its default and its comment in values.yaml. `npm run docs` writes it. */
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { isMap, isScalar, type Pair, parseDocument, type YAMLMap } from 'yaml';
import { cell } from './markdown.ts';

const VALUES = fileURLToPath(new URL('../manifests/helm/berth/values.yaml', import.meta.url));

const HEAD = `<!-- Generated from values.yaml by \`npm run docs\`. Do not edit. -->
# Values of the chart berth

[docs/install.md](../../../docs/install.md) describes how to install and upgrade Berth. It also lists the names that values had in
earlier charts. \`values.schema.json\` rejects values that are not in this table, and states their names.
`;
const TABLE = '\n| value | default | description |\n| --- | --- | --- |\n';

/** A line of the table, or a paragraph between two tables. */
type Line =
  | { readonly row: readonly [path: string, value: string, description: string] }
  | { readonly text: string };

/** Paragraphs of a comment, each on one line. */
function paragraphs(comment: string | null | undefined): string[] {
  return (comment ?? '')
    .split(/\n[ \t]*\n/)
    .map((text) => text.replaceAll(/\s+/g, ' ').trim())
    .filter((text) => text !== '');
}

/** The comment above the first value of a map belongs to the map. */
function commentOf(map: YAMLMap, pair: Pair, index: number): string | null | undefined {
  const own = isScalar(pair.key) ? pair.key.commentBefore : undefined;
  return own ?? (index === 0 ? map.commentBefore : undefined);
}

function linesOf(map: YAMLMap, prefix: string): Line[] {
  return map.items.flatMap((pair, index) => {
    const path = `${prefix}${String(isScalar(pair.key) ? pair.key.value : pair.key)}`;
    const texts = paragraphs(commentOf(map, pair, index));
    const description = texts.pop() ?? '';
    const between: Line[] = texts.map((text) => ({ text }));
    const { value } = pair;
    if (isMap(value) && value.items.length > 0) {
      const own: Line[] = description === '' ? [] : [{ row: [path, '', description] }];
      return [...between, ...own, ...linesOf(value, `${path}.`)];
    }
    const shown = JSON.stringify((value as { toJSON(): unknown } | null)?.toJSON() ?? null);
    return [...between, { row: [path, `\`${shown}\``, description] }];
  });
}

/** The text of the file as it should be. @param text content of values.yaml */
export function chartValuesDoc(text = readFileSync(VALUES, 'utf8')): string {
  const document = parseDocument(text);
  if (!isMap(document.contents)) throw new Error('failed to read values.yaml: it is not a map');
  let isInTable = false;
  let page = `${HEAD}${paragraphs(document.commentBefore)
    .map((each) => `\n${each}\n`)
    .join('')}`;
  for (const line of linesOf(document.contents as YAMLMap, '')) {
    if ('text' in line) page += `\n${line.text}\n`;
    else
      page += `${isInTable ? '' : TABLE}| \`${line.row[0]}\` | ${cell(line.row[1])} | ${cell(line.row[2])} |\n`;
    isInTable = 'row' in line;
  }
  return page;
}
