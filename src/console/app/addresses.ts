/** Addresses of this installation. The API inserts a base element with the path of the console into the index. */

/** Path of the console without a slash at its end, such as `/berth/console`. */
export const consolePath = new URL(document.baseURI).pathname.replace(/\/$/, '');

/** Base URL of the API without a slash at its end. */
export const apiUrl = new URL('..', document.baseURI).href.replace(/\/$/, '');
