import fc from 'fast-check';
import { isReservedEnvName } from '../../src/domain/deployment/reserved.ts';
import { COMPONENTS } from '../../src/domain/resource-spec/components.ts';
import type { RunSettings } from '../../src/domain/run-settings/run-settings.ts';
import { fromSecretReferences } from '../../src/domain/run-settings/secret-reference-schema.ts';

/** Texts of commands and variables: references that Kubernetes expands, escapes, and texts that a shell would change. */
const text = fc.oneof(
  fc.constantFrom('serve', '--listen=:$(PORT)', '$$(PORT)', '$(MISSING)', 'a b\n"c"', "it's", '$', '100 %'),
  fc.string({ maxLength: 12, unit: 'grapheme-ascii' }),
);
const lists = fc.array(text, { minLength: 1, maxLength: 3 });

/** Nothing is absent and empty at once: a command without members would be no command. */
const command = fc.oneof(
  lists.map((args) => ({ args })),
  lists.map((given) => ({ command: given })),
  fc.record({ command: lists, args: lists }),
);

const variableName = fc
  .oneof(
    fc.constantFrom('LOG_LEVEL', 'OTEL_SERVICE_NAME', 'OTEL_EXPORTER_OTLP_ENDPOINT', 'HTTPS_PROXY', 'a.b-c'),
    fc.stringMatching(/^[A-Za-z_][A-Za-z0-9_]{0,8}$/),
  )
  .filter((name) => !isReservedEnvName(name) && name !== '__proto__' && !name.startsWith('REF_'));

const env = fc.uniqueArray(fc.record({ name: variableName, value: text }), {
  minLength: 1,
  maxLength: 4,
  selector: ({ name }) => name,
});

const commands = fc
  .record(Object.fromEntries(COMPONENTS.map((component) => [component, command])), { requiredKeys: [] })
  .filter((given) => Object.keys(given).length > 0);

/** The Secrets to which references refer. */
export const REFERENCED_SECRETS = {
  names: ['payments', 'a.b-c', 'external-services'],
  keys: ['api-key', 'DATABASE_URI', 'tls.key', '_.-'],
} as const;

/** Secrets, references and env share one set of names, so references have names that the others do not have. */
const secretReference = fc.record({
  name: fc.constantFrom('REF_KEY', 'REF_TOKEN', 'REF_.a-b', 'REF_', 'REF_LONG_NAME'),
  secretName: fc.constantFrom(...REFERENCED_SECRETS.names),
  secretKey: fc.constantFrom(...REFERENCED_SECRETS.keys),
});

const secretReferences = fc.uniqueArray(secretReference, {
  minLength: 1,
  maxLength: 4,
  selector: ({ name }) => name,
});

const releaseTimeout = fc.integer({ min: 1, max: 86_400 });

/** Valid run settings as they are stored. */
export const validRunSettings: fc.Arbitrary<RunSettings> = fc.record(
  {
    port: fc.integer({ min: 1, max: 65_535 }),
    commands,
    env,
    secretReferences,
    releaseCommand: lists,
    releaseTimeoutSeconds: releaseTimeout,
  },
  { requiredKeys: [] },
) as fc.Arbitrary<RunSettings>;

/** `secret_references` as a request sends them. */
export const sentSecretReferences = fc.option(
  fc.oneof(secretReferences.map(fromSecretReferences), fc.constant([])),
);

/** Run settings of source_revision_config as a request sends them: null clears, and empty lists are as good as absent ones. */
export const sentRunSettings = fc.record(
  {
    port: fc.option(fc.integer({ min: 1, max: 65_535 })),
    commands: fc.option(
      fc.record(
        Object.fromEntries(
          COMPONENTS.map((component) => [
            component,
            fc.option(
              fc.record(
                { command: fc.option(fc.oneof(lists, fc.constant([]))), args: fc.option(lists) },
                { requiredKeys: [] },
              ),
            ),
          ]),
        ),
        { requiredKeys: [] },
      ),
    ),
    env: fc.option(fc.oneof(env, fc.constant([]))),
    release_command: fc.option(lists),
    release_timeout_seconds: fc.option(releaseTimeout),
  },
  { requiredKeys: [] },
);
