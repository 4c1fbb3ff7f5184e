import { readdirSync } from 'node:fs';
import { DEPLOYMENT_STATUSES } from '../../../src/domain/revision/states.ts';
import type { Statement } from '../../../src/hub/store/core/statement.ts';
import {
  type ListFilters,
  listDeploymentsStatement,
} from '../../../src/hub/store/sql/deployments/list-deployments.ts';

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

const FILTERS: ListFilters = {
  name: 'web',
  namePatterns: ['%web%'],
  imageVersion: '1.0.0',
  deploymentType: 'dev',
  deploymentIds: [],
  tagValueIds: [],
};

/** Statements of the list: without filters, with each filter, and with all filters. */
export function listStatements(): Statement<object, unknown>[] {
  const each = Object.entries(FILTERS).map(([name, value]): ListFilters => ({ [name]: value }));
  return [
    ...[{}, ...each, FILTERS].map((filters) => listDeploymentsStatement(filters, { limit: 10 })),
    ...DEPLOYMENT_STATUSES.map((status) => listDeploymentsStatement({}, { status, limit: 10 })),
    ...[true, false].map((remoteReconciled) => listDeploymentsStatement({}, { remoteReconciled, limit: 10 })),
  ] as unknown as Statement<object, unknown>[];
}
