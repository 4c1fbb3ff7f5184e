import { CopyableText } from './copyable-text.tsx';

/** A secret that the API returns only once. It leaves the page with the dialog that shows it. */
export const SecretOnce = ({ label, value }: { readonly label: string; readonly value: string }) => (
  <section aria-label={label}>
    <p>
      <strong>Copy it now.</strong> Berth does not show it again.
    </p>
    <CopyableText text={value} />
  </section>
);
