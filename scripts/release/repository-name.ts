/** Names of repositories of images, as the reference of the distribution project defines them. */

/** A label of a host name. */
const LABEL = '[a-zA-Z0-9](?:[a-zA-Z0-9-]*[a-zA-Z0-9])?';
const HOST = `${LABEL}(?:\\.${LABEL})*(?::[0-9]{1,5})?`;
const PART = '[a-z0-9]+(?:(?:\\.|_|__|-+)[a-z0-9]+)*';
const NAME = new RegExp(`^(?:${HOST}/)?${PART}(?:/${PART})*$`);
/** Of the whole name. */
const MAX_CHARACTERS = 255;

/** Whether a text names a repository: names in lower case, with the host of a registry in front if there is one, and no tag. */
export const isRepositoryName = (text: string): boolean => text.length <= MAX_CHARACTERS && NAME.test(text);
