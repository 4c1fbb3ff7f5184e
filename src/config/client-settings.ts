import { homedir } from 'node:os';
import { join } from 'node:path';

/**
 * Settings of API users, for the commands that call the API. Other variables are read only
 * if the user names them (see namedVariable). This file imports no schemas,
 * because users wait for each command to start.
 */
export function clientSettings(environment: NodeJS.ProcessEnv = process.env) {
  const { BERTH_URL: url, BERTH_API_KEY: apiKey, BERTH_TENANT_ID: tenantId } = environment;
  const { BERTH_ID_TOKEN: idToken, BERTH_ID_TOKEN_FILE: idTokenFile } = environment;
  const { XDG_CONFIG_HOME: configHome, HOME: home } = environment;
  const folder = configHome || join(home || homedir(), '.config');
  return { url, apiKey, tenantId, idToken, idTokenFile, configHome: folder };
}

/** The value of a variable that the user names, such as `value_from: {env: TOKEN}` in a file. */
export function namedVariable(
  name: string,
  environment: NodeJS.ProcessEnv = process.env,
): string | undefined {
  return environment[name];
}
