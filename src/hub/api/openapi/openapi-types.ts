/** The parts of an OpenAPI document that are post-processed. */

/** A JSON Schema of the document. */
export interface JsonSchema {
  $ref?: string;
  type?: string | string[];
  format?: string;
  description?: string;
  properties?: Record<string, JsonSchema>;
  required?: string[];
  additionalProperties?: boolean | JsonSchema;
  items?: JsonSchema;
  anyOf?: JsonSchema[];
  oneOf?: JsonSchema[];
  allOf?: JsonSchema[];
  enum?: unknown[];
  const?: unknown;
  examples?: unknown[];
  default?: unknown;
  minimum?: number;
  minItems?: number;
  [keyword: string]: unknown;
}

export interface MediaType {
  schema?: JsonSchema;
  example?: unknown;
}

/** A header of a response; `required`: it is always present. */
export interface Header {
  description: string;
  required?: boolean;
  schema: JsonSchema;
}

/** A response, or a reference to a component. */
export interface ResponseObject {
  $ref?: string;
  description?: string;
  headers?: Record<string, Header>;
  content?: Record<string, MediaType>;
}

/** `required`: a request without it is rejected. */
export interface RequestBody {
  required?: boolean;
  content: Record<string, MediaType>;
}

export interface Parameter {
  name: string;
  in: string;
  description?: string;
  required?: boolean;
  schema: JsonSchema;
  example?: unknown;
}

export interface Operation {
  operationId?: string;
  summary?: string;
  description?: string;
  tags?: string[];
  security?: object[];
  parameters?: Parameter[];
  requestBody?: RequestBody;
  responses: Record<string, ResponseObject>;
  /** The headers of successful responses. Removed before the document is served. */
  'x-answer-headers'?: readonly AnswerHeader[];
}

export interface OpenApiDocument {
  openapi: string;
  info: {
    title: string;
    version: string;
    description?: string;
    license?: { name: string; identifier?: string };
  };
  tags?: { name: string; description: string }[];
  paths: Record<string, Record<string, Operation>>;
  components: {
    schemas: Record<string, JsonSchema>;
    responses?: Record<string, ResponseObject>;
    securitySchemes: object;
  };
}

/** Headers of successful responses of a route, besides those of all responses. */
export type AnswerHeader = 'ETag' | 'Location';

/** Every operation of a document with its method and path. */
export function operationsOf(document: OpenApiDocument) {
  return Object.entries(document.paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => ({ method, path, operation })),
  );
}

/** Prefix of a reference to a schema. */
export const SCHEMA_REFERENCE = '#/components/schemas/';
