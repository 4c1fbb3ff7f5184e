import { GitHostError } from '../../domain/builds/git-host.ts';
import { callHttps, gitHostErrorOf, type HttpsOptions } from './https-call.ts';

function parse(body: string): unknown {
  try {
    return JSON.parse(body);
  } catch {
    throw new GitHostError('unreadable', 'its response is not JSON');
  }
}

/** Reads the JSON of a URL. @throws GitHostError */
export async function getJson(url: URL, token: string, options: HttpsOptions): Promise<unknown> {
  const headers = { authorization: `Bearer ${token}`, accept: 'application/json' };
  const signal = AbortSignal.timeout(options.deadlineMs);
  const answer = await callHttps(url, { method: 'GET', headers }, options, signal);
  const failure = gitHostErrorOf(answer);
  if (failure !== null) throw failure;
  return parse(answer.body.toString('utf8'));
}
