import type { DeploymentStatus, DeploymentType } from '../api/types.ts';
import type { Search } from '../app/search.ts';

/** The filters of the list API, as they are in the URL. */

export const STATUSES = [
  'READY',
  'AWAITING_DATABASE',
  'UNKNOWN',
  'UNUSED',
  'AWAITING_DELETE',
] as const satisfies readonly DeploymentStatus[];
export const TYPES = ['dev_free', 'dev', 'prod'] as const satisfies readonly DeploymentType[];

/** Parameters with the names of the list API. An absent one does not filter. */
export interface Filters {
  readonly name?: string;
  readonly name_contains?: string;
  readonly status?: DeploymentStatus;
  readonly remote_reconciled?: 'true' | 'false';
  readonly tag_value_ids?: string;
  readonly image_version?: string;
  readonly deployment_type?: DeploymentType;
  readonly deployment_ids?: string;
}
export type FilterName = keyof Filters;

const oneOf = <T extends string>(values: readonly T[], text: string | undefined): T | undefined =>
  values.find((value) => value === text);

/** Leaves out what does not filter. */
const withoutAbsent = (filters: { [K in FilterName]: Filters[K] | undefined }): Filters =>
  Object.fromEntries(Object.entries(filters).filter(([, value]) => value !== undefined && value !== ''));

/** The filters of a URL. What the API would reject is left out. */
export function filtersOf(search: Search | Filters): Filters {
  const given: Search = { ...search };
  return withoutAbsent({
    name: given['name'],
    name_contains: given['name_contains'],
    status: oneOf(STATUSES, given['status']),
    remote_reconciled: oneOf(['true', 'false'], given['remote_reconciled']),
    tag_value_ids: given['tag_value_ids'],
    image_version: given['image_version'],
    deployment_type: oneOf(TYPES, given['deployment_type']),
    deployment_ids: given['deployment_ids'],
  });
}

/** The query of the list API. */
export function queryOf({ remote_reconciled: reconciled, ...filters }: Filters) {
  return reconciled === undefined ? filters : { ...filters, remote_reconciled: reconciled === 'true' };
}

export const isFiltered = (filters: Filters): boolean => Object.keys(filters).length > 0;

/** The options of `berth deployments list` for these filters; null: the command line does not have all of them. */
export function commandOptions(filters: Filters): string[] | null {
  const options: Partial<Record<FilterName, string>> = {
    name_contains: '--name-contains',
    status: '--status',
    image_version: '--image-version',
    deployment_type: '--type',
  };
  const words = Object.entries(filters).map(
    ([name, value]) => [options[name as FilterName], String(value)] as const,
  );
  if (words.some(([option]) => option === undefined)) return null;
  return words.flatMap(([option = '', value]) => [option, value]);
}
