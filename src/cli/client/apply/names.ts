/** Names as the API compares them. */

/** A name in NFC, with plain spaces, and without outer spaces. Names that look equal are then equal. */
export const normalName = (name: string): string =>
  name
    .normalize('NFC')
    .replace(/\p{Zs}/gu, ' ')
    .replace(/^ +| +$/g, '');
