/** Characters that change the direction of the text that follows. */
const DIRECTIONS = /[\u202a-\u202e\u2066-\u2069]/g;

/**
 * A text of a tenant, a pod or a git host inside of another text, such as the title of a dialog. Its direction does not change the
 * order of the rest. In elements, use `bdi`.
 */
export const isolated = (text: string): string => `\u2068${text.replace(DIRECTIONS, '')}\u2069`;

/** A text in the title of the document, where most names need no isolation. */
export const inTitle = (text: string): string => (/^[\x20-\x7e]*$/.test(text) ? text : isolated(text));
