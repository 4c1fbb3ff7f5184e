import { createInterface } from 'node:readline/promises';
import { UsageError } from '../../command/usage-error.ts';
import { Interrupted } from '../exit-codes.ts';

/** Questions before something is deleted. */

/**
 * Asks the user. Only `y` and `yes` agree.
 * @param agreed the user has passed --yes
 * @param refusal what is printed when the user does not agree
 * @throws UsageError without a terminal; Interrupted when the user does not agree
 */
export async function confirm(
  question: string,
  agreed: boolean,
  refusal = 'nothing was deleted',
): Promise<void> {
  if (agreed) return;
  if (!process.stdin.isTTY)
    throw new UsageError('standard input is not a terminal, so the question cannot be answered: pass --yes');
  const terminal = createInterface({ input: process.stdin, output: process.stderr });
  // Ctrl-C and Ctrl-D end the question without an answer.
  const ended = new Promise<string>((resolve) => terminal.once('close', () => resolve('')));
  try {
    terminal.once('SIGINT', () => terminal.close());
    const answer = await Promise.race([terminal.question(`${question} [y/N] `).catch(() => ''), ended]);
    if (!/^y(es)?$/i.test(answer.trim())) throw new Interrupted(refusal);
  } finally {
    terminal.close();
  }
}
