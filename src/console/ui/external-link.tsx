import { isWebAddress } from './web-address.ts';

/** A link to another site. An address that does not begin with http is shown as text, because it could be a script. */
export const ExternalLink = ({ href }: { readonly href: string }) =>
  isWebAddress(href) ? (
    <a href={href} rel="noreferrer">
      {href}
    </a>
  ) : (
    <bdi>{href}</bdi>
  );
