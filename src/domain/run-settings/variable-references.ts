import { EXTERNAL_CACHE, EXTERNAL_DATABASE } from './external-services.ts';
import type { Variable } from './run-settings.ts';

/** References of the form `$(NAME)` in values of variables, as Kubernetes reads them. `$$` is one `$`. */

/** Names of the variables that a value refers to. */
export function referencesOf(value: string): string[] {
  const found = [...value.matchAll(/\$(?:\$|\(([^)]*)\))/g)].flatMap(([, name]) => name ?? []);
  return [...new Set(found)];
}

const URIS: ReadonlySet<string> = new Set([EXTERNAL_DATABASE, EXTERNAL_CACHE]);

/**
 * Why a variable must not contain its references; null: it may. The URIs of external services are also DATABASE_URI and
 * CACHE_URI, which come before all variables that they could refer to, and which sidecars can request alone. There, a
 * reference would stay as it is.
 */
export function referenceProblem({ name, value }: Variable): string | null {
  const [first] = URIS.has(name) ? referencesOf(value) : [];
  if (first === undefined) return null;
  return `must not refer to another variable, but contains $(${first}): write the complete URI. $$(${first}) is the text $(${first})`;
}
