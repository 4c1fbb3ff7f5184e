import { drizzle } from 'drizzle-orm/pg-proxy';

/** A value of each selected column, in their order. */
type Values = readonly unknown[];

/** Drizzle's builder on a function that responds to each statement with the rows of its result. */
export const fakeDrizzle = (respond: (text: string, parameters: Values) => Promise<readonly Values[]>) =>
  drizzle(async (text, parameters) => ({ rows: [...(await respond(text, parameters))] }));
