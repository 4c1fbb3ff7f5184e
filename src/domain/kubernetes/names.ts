import { z } from 'zod';
import { line } from './text.ts';

/** Name grammars of the Kubernetes API server. Source: k8s.io/apimachinery pkg/util/validation and pkg/api/validate/content. */

const DNS_LABEL = /^[a-z0-9]([-a-z0-9]*[a-z0-9])?$/;
const DNS_SUBDOMAIN = /^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$/;
const QUALIFIED_NAME_PART = /^([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]$/;
const LABEL_VALUE = /^(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?$/;
const CONFIG_MAP_KEY = /^[-._a-zA-Z0-9]+$/;
const PRINTABLE_BUT_EQUALS = /^[ -<>-~]+$/;

/** Maximum length of the value of a label, and of the name part of a label key. */
export const MAX_LABEL_LENGTH = 63;
/** Maximum length of a DNS subdomain, which is also that of the names of most Kubernetes objects. */
export const MAX_SUBDOMAIN_LENGTH = 253;

/** RFC 1123 label: names of containers and volumes. */
export const dnsLabelSchema = z
  .string()
  .min(1)
  .max(MAX_LABEL_LENGTH)
  .regex(
    DNS_LABEL,
    "must consist of lower case letters, digits or '-', and begin and end with a letter or digit",
  );

/** RFC 1123 subdomain: names of Secrets, ConfigMaps, claims, ServiceAccounts. */
export const dnsSubdomainSchema = z
  .string()
  .min(1)
  .max(MAX_SUBDOMAIN_LENGTH)
  .regex(
    DNS_SUBDOMAIN,
    "must consist of lower case letters, digits, '-' or '.', and begin and end with a letter or digit",
  );

/**
 * Name of an environment variable in a container. Kubernetes 1.34 and later accept all printable ASCII characters
 * except '='.
 */
export const envVarNameSchema = z
  .string()
  .min(1)
  .max(256)
  .regex(PRINTABLE_BUT_EQUALS, "must consist of printable ASCII characters other than '='");

/** Key of a ConfigMap or Secret. */
export const configMapKeySchema = z
  .string()
  .min(1)
  .max(MAX_SUBDOMAIN_LENGTH)
  .regex(CONFIG_MAP_KEY, "must consist of letters, digits, '-', '_' or '.'")
  .refine((key) => key !== '.' && !key.startsWith('..'), "must not be '.' and must not start with '..'");

/** Whether `value` is an RFC 1123 subdomain. */
export function isDnsSubdomain(value: string): boolean {
  return value.length <= MAX_SUBDOMAIN_LENGTH && DNS_SUBDOMAIN.test(value);
}

/** Whether `key` is a qualified name of Kubernetes: `[subdomain/]name`. */
export function isQualifiedName(key: string): boolean {
  const parts = key.split('/');
  const name = parts.at(-1) ?? '';
  const prefix = parts.length === 2 ? parts[0] : undefined;
  if (parts.length > 2 || (prefix !== undefined && !isDnsSubdomain(prefix))) return false;
  return name.length <= MAX_LABEL_LENGTH && QUALIFIED_NAME_PART.test(name);
}

/** Whether `value` may be the value of a label. */
export function isLabelValue(value: string): boolean {
  return value.length <= MAX_LABEL_LENGTH && LABEL_VALUE.test(value);
}

/** Whether any element of a path, split at '/', is '..'. */
export function hasBackstep(path: string): boolean {
  return path.split('/').includes('..');
}

/** Maximum length of a path: PATH_MAX of Linux without the terminating NUL. */
export const MAX_PATH_LENGTH = 4095;

/** A relative path that does not leave its base directory. Used for subPath and seccomp profiles. */
export const descendingPathSchema = line(MAX_PATH_LENGTH)
  .refine((path) => !path.startsWith('/'), 'must be a relative path')
  .refine((path) => !hasBackstep(path), "must not contain '..'");

/**
 * Path of a file in a volume. In addition to `descendingPathSchema`, it must not be empty and must not begin with '..',
 * because the kubelet reserves such names ('..data').
 */
export const volumeFilePathSchema = descendingPathSchema
  .min(1)
  .refine((path) => !path.startsWith('..') || path.startsWith('../'), "must not start with '..'");
