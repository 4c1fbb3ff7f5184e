import { readdirSync } from 'node:fs';
import type { Statement } from '../../../src/hub/store/core/statement.ts';

const FOLDER = new URL('../../../src/hub/store/sql/', import.meta.url);

const isStatement = (value: unknown): value is Statement<object, unknown> =>
  typeof value === 'object' && value !== null && 'text' in value && 'parameters' in value;

/** All statements that the modules in `sql/` and its folders export. */
export async function allStatements(): Promise<Statement<object, unknown>[]> {
  const modules = readdirSync(FOLDER, { recursive: true, encoding: 'utf8' })
    .filter((file) => file.endsWith('.ts'))
    .map((file) => import(new URL(file, FOLDER).href));
  return (await Promise.all(modules)).flatMap((module: object) => Object.values(module).filter(isStatement));
}
