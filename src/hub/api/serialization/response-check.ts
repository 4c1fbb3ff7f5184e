import { isObject } from '../../../domain/core/is-object.ts';
import type { ResponseShape } from './response-shape.ts';

/** Checks the types of a response. fast-json-stringify would convert a wrong value, for example null to "". */

/** Returns what is wrong with a value, as its path and its type, never the value itself; null: nothing. */
export type TypeCheck = (value: unknown) => string | null;

const TYPES: Readonly<Record<string, (value: unknown) => boolean>> = {
  string: (value) => typeof value === 'string',
  boolean: (value) => typeof value === 'boolean',
  integer: Number.isInteger,
  number: Number.isFinite,
  array: Array.isArray,
  object: isObject,
};

const typeName = (value: unknown) =>
  value === null || Number.isNaN(value) ? `${value}` : Array.isArray(value) ? 'array' : typeof value;

const passes: TypeCheck = () => null;

/** Fields that the schema names. */
function checkNamed({ properties = {}, required = [] }: ResponseShape): TypeCheck {
  const fields = Object.entries(properties).map(([name, shape]) => ({
    name,
    check: checkOf(shape),
    isRequired: required.includes(name),
  }));
  return (value) => {
    for (const { name, check, isRequired } of fields) {
      const field = (value as Record<string, unknown>)[name];
      const problem = field !== undefined ? check(field) : isRequired ? ' is missing' : null;
      if (problem !== null) return `.${name}${problem}`;
    }
    return null;
  };
}

/** The entries of a map, whose keys can be data of a tenant. */
function checkEntries({ properties = {} }: ResponseShape, entry: ResponseShape): TypeCheck {
  const check = checkOf(entry);
  return (value) => {
    for (const [name, field] of Object.entries(value as object)) {
      if (field === undefined || Object.hasOwn(properties, name)) continue;
      const problem = check(field);
      if (problem !== null) return `.*${problem}`;
    }
    return null;
  };
}

function checkFields(shape: ResponseShape): TypeCheck {
  const named = checkNamed(shape);
  if (typeof shape.additionalProperties !== 'object') return named;
  const entries = checkEntries(shape, shape.additionalProperties);
  return (value) => named(value) ?? entries(value);
}

function checkItems({ items }: ResponseShape): TypeCheck {
  const check = checkOf(items ?? {});
  return (value) => {
    for (const [at, item] of (value as readonly unknown[]).entries()) {
      const problem = item === undefined ? ' is missing' : check(item);
      if (problem !== null) return `[${at}]${problem}`;
    }
    return null;
  };
}

/** Whether an option of a union is meant. */
function isOption(
  { type, required = [], enum: values, properties = {} }: ResponseShape,
  value: unknown,
): boolean {
  if (type !== undefined && TYPES[type]?.(value) !== true) return false;
  if (values !== undefined && !values.includes(value)) return false;
  if (!isObject(value)) return true;
  const literals = Object.entries(properties);
  return (
    required.every((name) => value[name] !== undefined) &&
    literals.every(([name, { enum: allowed = [] }]) => allowed.includes(value[name]))
  );
}

/** The check of a shape. */
export function checkOf(shape: ResponseShape): TypeCheck {
  const { type = '', nullable = false } = shape;
  if (shape.if !== undefined) {
    const { if: option, then: own = {}, else: others = {} } = shape;
    const [checkOwn, checkOthers] = [checkOf(own), checkOf(others)];
    return (value) => (isOption(option, value) ? checkOwn(value) : checkOthers(value));
  }
  const isType = TYPES[type];
  if (isType === undefined) return passes;
  const checkParts = type === 'object' ? checkFields(shape) : type === 'array' ? checkItems(shape) : passes;
  return (value) => {
    if (value === null && nullable) return null;
    return isType(value) ? checkParts(value) : ` is ${typeName(value)}, not ${type}`;
  };
}
